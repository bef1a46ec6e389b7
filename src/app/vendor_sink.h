// VendorSink: an HTTP sink whose deliveries are calls to a vendor: each acquires from the vendor's shared
// bucket first, and tells it the answer. What has no room waits in the timer (SinkVerdict::not_yet): no
// attempt, and no 429. On the drip loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/sink.h"
#include "drip/json_payload.h"
#include "server/vendor_service.h"

namespace dripgate::app {

/// A delivery that finds the vendor's store closed is tried again after this.
inline constexpr Duration kVendorStoreWait = 1s;

/// Everything outlives the sink.
struct VendorSinkContext {
  std::string vendor;
  server::VendorService& vendors;
  Executor& there;  // where `vendors` is asked
  Executor& home;   // the drip's
  broker::Sink& inner;
  /// What the vendor's key names, as configured now: attributes of the event, else members of its payload.
  std::function<std::vector<std::string>()> key_names;
};

class VendorSink final : public broker::Sink {
 public:
  explicit VendorSink(VendorSinkContext context) : context_(std::move(context)) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

 private:
  using Finished = std::move_only_function<void(broker::SinkAnswer)>;
  [[nodiscard]] core::Descriptor attributes_of(const broker::Message& message);
  void granted(broker::Outgoing outgoing, core::Descriptor attributes,
               const Result<vendor::Acquired>& acquired, Finished done);
  void answered(core::Descriptor attributes, std::string id, broker::SinkAnswer answer, Finished done);

  const VendorSinkContext context_;
  drip::JsonPayload json_;
  Guard guard_;  // last
};

}  // namespace dripgate::app
