// VendorDesk: the vendor keys of this process: the store of the config, the share for when it does not
// answer, and the use case over them. Lives on the loop that serves requests, as the Gate; the embedded file
// is asked on the drip loop.
#pragma once

#include <functional>
#include <memory>

#include "app/engine.h"
#include "net/io_loop.h"
#include "obs/metrics.h"
#include "redis/client.h"
#include "server/vendor_service.h"
#include "vendor/vendors.h"

namespace dripgate::app {

/// Everything outlives the desk.
struct VendorDeskContext {
  net::IoLoop& io;  // of the requests
  runtime::Loop& loop;
  Engine& engine;
  Clock& clock;   // of embedded stores
  Clock& steady;  // wall time that does not step
  const config::Snapshot& snapshot;
  obs::Metrics& metrics;
  redis::Client* client = nullptr;  // on io; null: the store is embedded
  std::string key_prefix{};
  std::function<int()> instances;
};

class VendorDesk final : public server::VendorService, private vendor::Observer {
 public:
  explicit VendorDesk(VendorDeskContext context);
  ~VendorDesk() override;

  /// On the request loop.
  void acquire(vendor::AcquireCall call, Done<vendor::Acquired> done) override;
  void observe(vendor::ObserveCall call, Done<vendor::Observed> done) override;
  void inspect(const std::string& vendor, const core::Descriptor& attributes,
               Done<vendor::VendorStatus> done) override;
  void freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
              Done<vendor::Operated> done) override;
  void thaw(const std::string& vendor, const core::Descriptor& attributes,
            Done<vendor::Operated> done) override;
  /// What the key of a vendor names, as configured now; thread-safe.
  [[nodiscard]] std::vector<std::string> key_names(const std::string& vendor) const;

 private:
  void on_acquire(const std::string& vendor, std::string_view word) override;
  void on_observe(const std::string& vendor, const vendor::Observed& seen) override;

  VendorDeskContext context_;
  std::unique_ptr<store::VendorStore> store_;
  std::unique_ptr<store::VendorStore> local_;
  std::unique_ptr<vendor::Vendors> vendors_;
};

}  // namespace dripgate::app
