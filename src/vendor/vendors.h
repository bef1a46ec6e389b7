// Vendors: acquire and observe for a caller: attributes → vendor key, costs by dimension → limits, an
// answer's headers → what they change; and what holds while the store does not answer. Entry of the use case.
// Single-threaded, on the executor of its stores; each callback runs exactly once, there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/guard.h"
#include "core/breaker.h"
#include "core/policy.h"
#include "core/vendor.h"
#include "store/vendor_store.h"
#include "vendor/answer_reader.h"

namespace dripgate::vendor {

/// What the caller waits after a refusal of which nobody knows more.
inline constexpr Duration kRefusedWait = std::chrono::seconds{1};
/// Longest freeze by an operator, as of a config's freezeCap.
inline constexpr Duration kOperatorFreezeMax = std::chrono::hours{24};

/// Units by dimension; requests are 1 unless named.
using Costs = std::map<std::string, core::Units, std::less<>>;

struct AcquireCall {
  std::string vendor;
  core::Descriptor attributes{};
  Costs costs{};
};

struct Acquired {
  bool allowed = false;
  bool impossible = false;                 // the cost is above what a limit can ever hold: no wait helps
  std::string id{};                        // of an allowed call: give it to observe
  std::optional<core::Units> remaining{};  // least of all limits; empty: no limit, or nobody knows (open)
  Duration retry_after{};                  // of a denial
  std::optional<WallTime> frozen_until{};
  std::optional<core::FailureMode> degraded{};  // decided by the failure mode, not by the store
};

struct ObserveCall {
  std::string vendor;
  core::Descriptor attributes{};
  std::string id{};  // of the acquire; empty: none is known
  VendorAnswer answer{};
  std::optional<WallTime> sent{};
  Costs actual{};  // what the call has cost after all, by dimension
};

struct Observed {
  std::optional<WallTime> frozen_until{};
  Duration retry_after{};  // until the key may be asked again, by the store's clock; of a refusal never 0
  std::optional<core::Units> remaining{};
  std::vector<std::string> applied{};  // freeze, lowered, held, settled, returned, concurrency, older
  bool refused = false;                // the vendor refused the call
  int rubbish = 0;                     // headers that say nothing
  std::optional<core::FailureMode> degraded{};
};

/// What an operator's freeze or thaw has come to.
struct Operated {
  std::string key;
  std::optional<WallTime> frozen_until;
};

struct VendorStatus {
  std::string key;
  core::VendorPtr vendor;
  core::VendorView view;
};

/// Told of everything that metrics count.
class Observer {
 public:
  virtual ~Observer() = default;
  /// word: allowed, denied, frozen, impossible, unavailable.
  virtual void on_acquire(const std::string& vendor, std::string_view word) = 0;
  virtual void on_observe(const std::string& vendor, const Observed& seen) = 0;
};

struct VendorsContext {
  std::function<std::vector<core::VendorPtr>()> vendors;  // in force now
  store::VendorStore& store;
  store::VendorStore& local;       // in this process, for the failure mode local
  std::function<int()> instances;  // that share the limits
  const Clock& clock;              // does not step: the breaker's, and of headers without a Date
  Observer& observer;
};

/// Errors of all calls: not_found (no such vendor; names the known ones), invalid_argument (an attribute of
/// the key is missing, an unknown dimension, a cost out of range, a broken id), unavailable (closed, and the
/// store does not answer).
class Vendors {
 public:
  explicit Vendors(VendorsContext context) : context_(std::move(context)) {}

  void acquire(const AcquireCall& call, Done<Acquired> done);
  void observe(const ObserveCall& call, Done<Observed> done);
  void inspect(const std::string& vendor, const core::Descriptor& attributes, Done<VendorStatus> done);
  /// An operator's: nobody starts for so long; the longest freeze wins, freezeCap does not bound it. It
  /// counts as one refusal in a row. 0 < span <= kOperatorFreezeMax.
  void freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
              Done<Operated> done);
  /// Ends a freeze and the row of refusals; starts follow the bucket, which is empty. A vendor's own reset
  /// that a limit waits for stays.
  void thaw(const std::string& vendor, const core::Descriptor& attributes, Done<Operated> done);

 private:
  struct Asked {
    core::VendorPtr vendor;
    std::string key;
  };
  void operate(const Asked& asked, core::VendorPolicyPtr policy, const core::VendorObservation& seen,
               Done<Operated> done);
  [[nodiscard]] Result<Asked> find(const std::string& vendor, const core::Descriptor& attributes) const;
  void acquire_degraded(const Asked& asked, const core::VendorCosts& costs, Done<Acquired> done);
  void observe_degraded(const Asked& asked, const core::VendorObservation& seen, Observed observed,
                        Done<Observed> done);
  /// The vendor's limits as this process' share.
  [[nodiscard]] core::VendorPolicyPtr share_of(const core::Vendor& vendor) const;
  [[nodiscard]] MonoTime mono() const { return MonoTime{context_.clock.now().time_since_epoch()}; }
  void report(const core::Breaker::Permit& permit, const Error* error);
  void finish(const std::string& vendor, Acquired acquired, Done<Acquired>& done);
  void finish(const std::string& vendor, Observed observed, Done<Observed>& done);

  VendorsContext context_;
  core::Breaker breaker_;
  Guard guard_;  // last
};

}  // namespace dripgate::vendor
