// What all processes know of one vendor key: a bucket per limit, a freeze, and the calls in flight. Functions
// of (state, call, now); every VendorStore gives the same answers. docs/semantics.md, section 8.
//
// A vendor's numbers are only ever taken where they are lower than ours; a freeze only ever grows; at its end
// the buckets are empty, so that starts follow them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::core {

/// Calls in flight that one key remembers; the oldest is forgotten beyond it.
inline constexpr std::size_t kPermitsMax = 1024;
/// A call reaches the vendor within this after its acquire, or the vendor's window is not exactly ours by so
/// much. Starts are spread over a window but for this, its end; a call that is in flight over the edge and
/// was acquired within it counts on both sides. At most a quarter of the window.
inline constexpr Duration kArrivalGuard = std::chrono::milliseconds{250};
/// Who waits is told a start of his own, less than this (and than a window, if that is longer) after the
/// earliest one; then the telling begins anew there.
inline constexpr Duration kToldAheadMax = std::chrono::seconds{10};
/// How long a lowered number of calls in flight stays.
inline constexpr Duration kConcurrentLoweredFor = std::chrono::seconds{60};
/// What a caller is told to wait for a permit at most: one may come back at any time.
inline constexpr Duration kPermitWaitMax = std::chrono::milliseconds{500};
/// After a refusal one call tries the vendor and the others wait for its answer, no longer than this: whoever
/// made it may be dead.
inline constexpr Duration kProbeFor = std::chrono::seconds{5};
/// Meanwhile those others come back after this, each with a start of his own.
inline constexpr Duration kProbeLook = std::chrono::milliseconds{100};
inline constexpr int kStrikesMax = 30;
/// A key is kept this long after nothing of it matters any more.
inline constexpr Duration kVendorKept = std::chrono::seconds{60};
/// A bucket that never refills is remembered this long after its last use.
inline constexpr Duration kVendorNeverRefills = std::chrono::hours{24 * 30};
inline constexpr std::size_t kVendorLimitsMax = kLimitsPerPolicyMax;

using VendorCosts = std::array<Units, kVendorLimitsMax>;  // by limit; 0: this call does not use it

struct VendorPolicy {
  std::vector<Limit> limits;                  // fixed windows and token buckets, at most kVendorLimitsMax
  int concurrent = 0;                         // calls in flight; 0: no bound
  Duration lease = std::chrono::seconds{60};  // an unobserved call is over after it
  Duration freeze_floor = std::chrono::milliseconds{100};  // doubled per refusal in a row
  Duration freeze_cap = std::chrono::minutes{15};
  int sync_percent = 10;  // of a limit: what the vendor may report less than we believe without our following
};
using VendorPolicyPtr = std::shared_ptr<const VendorPolicy>;

/// The limit whose starts are spread evenly over its window: the shortest window that is no calendar day.
/// Else limits.size().
[[nodiscard]] std::size_t paced_limit(const VendorPolicy& policy);
/// The limit whose rate sets those who wait apart: the paced one, else the slowest bucket. Else
/// limits.size().
[[nodiscard]] std::size_t queue_limit(const VendorPolicy& policy);

struct PermitId {
  std::uint64_t number = 0;  // from 1
  WallTime acquired;

  friend bool operator==(const PermitId&, const PermitId&) = default;
};

struct VendorState {
  static constexpr WallTime kNever{Duration{0}};
  struct OfLimit {
    WallTime time = kNever;  // window: its start; bucket: when `value` was so
    std::int64_t value = 0;  // window: units used; bucket: what is missing to full, in 1/window of a unit
    WallTime hold = kNever;  // nothing left until then, the vendor says
    Duration window{};       // that `value` counts in; 0: never used
    bool bucket = false;     // what `value` means; of another kind of limit it means nothing

    friend bool operator==(const OfLimit&, const OfLimit&) = default;
  };
  struct Permit {
    PermitId id;
    WallTime lease_end;
    VendorCosts costs{};

    friend bool operator==(const Permit&, const Permit&) = default;
  };
  WallTime seen = kNever;     // latest time of a call
  WallTime frozen = kNever;   // nobody starts before
  WallTime refused = kNever;  // the refusal that the strikes count from
  int strikes = 0;            // refusals in a row
  WallTime synced = kNever;   // when the newest response that was followed had been sent
  int concurrent = 0;         // lowered calls in flight; 0: not lowered
  WallTime concurrent_until = kNever;
  std::uint64_t permits_given = 0;
  WallTime told = kNever;  // the latest start that somebody who waits was told
  std::vector<OfLimit> limits;
  std::vector<Permit> permits;  // in flight, in the order of their acquires

  friend bool operator==(const VendorState&, const VendorState&) = default;
};

struct VendorGrant {
  bool allowed = false;
  bool impossible = false;  // the cost is above what a limit can ever hold
  Duration retry_after{};   // denied: until the first start that nobody else was told; impossible, limit 0: 0
  PermitId permit;          // allowed
  Units remaining = 0;      // least of all limits, whole units, after the decision
  std::optional<WallTime> frozen_until;
  WallTime now;

  friend bool operator==(const VendorGrant&, const VendorGrant&) = default;
};

enum class VendorVerdict : std::uint8_t {
  nothing,      // not the application's word: says nothing about limits
  answered,     // by the application (a 404 too), no refusal: ends the row of refusals
  refused,      // freeze
  concurrency,  // lower the calls in flight
  thaw,         // an operator ends the freeze
};

/// One answer of the vendor, in numbers.
struct VendorObservation {
  struct OfLimit {
    Units remaining = -1;   // reported; -1: not
    Duration hold{-1};      // until there is more, from now on, where nothing is left; -1: not said
    Duration resolution{};  // of hold
    Units actual = -1;      // what the call has cost after all; -1: as acquired

    friend bool operator==(const OfLimit&, const OfLimit&) = default;
  };
  VendorVerdict verdict = VendorVerdict::nothing;
  std::optional<PermitId> permit;
  std::optional<WallTime> sent;  // when the call was sent; known from the permit too
  Duration freeze{};             // what the vendor says to wait; 0: nothing
  std::array<OfLimit, kVendorLimitsMax> limits{};
};

struct VendorEffect {
  std::optional<WallTime> frozen_until;
  Units remaining = 0;    // as VendorGrant
  bool froze = false;     // the freeze is longer now
  bool lowered = false;   // a bucket was lowered to what the vendor says
  bool held = false;      // a limit waits for the vendor's reset
  bool settled = false;   // the actual cost was charged
  bool returned = false;  // the permit came back
  bool fewer = false;     // fewer calls in flight from now on
  bool ignored = false;   // older than what was followed already
  WallTime now;

  friend bool operator==(const VendorEffect&, const VendorEffect&) = default;
};

struct VendorView {
  bool exists = false;
  std::optional<WallTime> frozen_until;
  int strikes = 0;
  std::size_t in_flight = 0;
  int concurrent = 0;                         // in force; 0: no bound
  std::vector<Units> remaining;               // by limit
  std::vector<std::optional<WallTime>> hold;  // by limit
};

/// Costs beyond policy.limits.size() are ignored. Backends write a state back after every observation and
/// every acquire but one without permit and wait. Error of both: clock_stepped_back.
[[nodiscard]] Result<VendorGrant> acquire(VendorState& state, const VendorPolicy& policy,
                                          const VendorCosts& costs, WallTime now);
[[nodiscard]] Result<VendorEffect> observe(VendorState& state, const VendorPolicy& policy,
                                           const VendorObservation& seen, WallTime now);
[[nodiscard]] VendorView view(VendorState state, const VendorPolicy& policy, WallTime now);
/// From here on the state equals none.
[[nodiscard]] WallTime kept_until(const VendorState& state, const VendorPolicy& policy);

/// The bytes that every backend keeps (lua/lib_vendor.lua reads and writes the same). Errors: corrupt,
/// newer_version.
[[nodiscard]] std::string encode(const VendorState& state);
[[nodiscard]] Result<VendorState> decode_vendor(std::string_view bytes);

}  // namespace dripgate::core
