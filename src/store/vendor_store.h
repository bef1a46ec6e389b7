// The port to the shared buckets of vendor keys (core/vendor_bucket.h): one atomic call each; every backend
// gives the same answers (tests/conformance). The store's own clock decides. `done` runs exactly once.
#pragma once

#include <string>

#include "base/result.h"
#include "core/vendor_bucket.h"

namespace dripgate::store {

struct VendorAcquire {
  std::string key;  // of the vendor, with its attributes: "hubspot:42"
  core::VendorPolicyPtr policy;
  core::VendorCosts costs{};
};

struct VendorObserve {
  std::string key;
  core::VendorPolicyPtr policy;
  core::VendorObservation seen;
};

class VendorStore {
 public:
  virtual ~VendorStore() = default;
  /// Errors of all calls: unavailable, timed_out (may have counted), clock_stepped_back, full, corrupt.
  virtual void acquire(VendorAcquire call, Done<core::VendorGrant> done) = 0;
  virtual void observe(VendorObserve call, Done<core::VendorEffect> done) = 0;
  virtual void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) = 0;
  /// Forgets the key: full buckets, no freeze, nothing in flight.
  virtual void reset(std::string key, Done<void> done) = 0;
};

}  // namespace dripgate::store
