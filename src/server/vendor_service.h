// VendorService: what the vendor routes ask of the process behind them; app implements it over
// vendor::Vendors. Called on the server's loop; each callback runs exactly once, there.
#pragma once

#include "vendor/vendors.h"

namespace dripgate::server {

class VendorService {
 public:
  virtual ~VendorService() = default;
  virtual void acquire(vendor::AcquireCall call, Done<vendor::Acquired> done) = 0;
  virtual void observe(vendor::ObserveCall call, Done<vendor::Observed> done) = 0;
  virtual void inspect(const std::string& vendor, const core::Descriptor& attributes,
                       Done<vendor::VendorStatus> done) = 0;
  virtual void freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
                      Done<vendor::Operated> done) = 0;
  virtual void thaw(const std::string& vendor, const core::Descriptor& attributes,
                    Done<vendor::Operated> done) = 0;
};

}  // namespace dripgate::server
