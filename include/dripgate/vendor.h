// Vendor: calls to somebody else's API within a quota that only they know exactly. One bucket per account is
// shared by every process, kept in step with what the vendor's headers say, and one refusal stops all of
// them.
//
//   auto hubspot = dripgate::Vendor::open({.vendor = "hubspot", .config_file = "dripgate.yaml"});
//   auto done = execute_with_limit(*hubspot, {{"portal", "42"}}, [&] {
//     Page page = http.get("/contacts");
//     return dripgate::VendorReply<Page>{.answer = {page.status, page.headers}, .result = page};
//   });
//   if (!done) ...                                                         // a wrong call, or a closed store
//   else if (auto* later = std::get_if<dripgate::RateLimitExceeded>(&*done))
//     queue.delay(job, later->retry_after);                                // never sleep: the job waits
//   else use(std::get<Page>(*done));
//
// Threads and callbacks: as for a Limiter, but for its end: a Vendor is a handle, copies share one, and the
// last one ends it. A call that execute_with_limit has begun keeps a copy until it is observed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dripgate/limiter.h"
#include "dripgate/policy.h"
#include "dripgate/result.h"
#include "dripgate/store.h"

namespace dripgate::DRIPGATE_V1 {

/// A limit of a vendor and what it counts. No sliding log.
struct VendorLimit {
  Limit limit{};
  std::string dimension = "requests";  // or "tokens", ...: each call says what it costs of it
};

struct VendorOptions {
  std::string vendor{};  // its id
  /// The vendor: out of `vendors:` of a config, or in code.
  std::string config_file{};
  std::string config_text{};
  std::vector<VendorLimit> limits{};      // in code, as everything down to local_share
  std::string key{};                      // "{portal}": names are attributes; empty: one for all
  int concurrent = 0;                     // calls in flight; 0: no bound
  Span lease = std::chrono::seconds{60};  // with concurrent: a call nobody ends is over after it
  std::string profile = "generic";        // how its headers read
  Span freeze_floor =
      std::chrono::milliseconds{100};          // of a refusal without a wait; doubles per refusal in a row
  Span freeze_cap = std::chrono::minutes{15};  // longest freeze that the vendor can ask for
  int sync_percent = 10;  // of a limit: what it may report less than we believe without our following
  std::optional<FailureMode> on_store_failure{};  // must be said
  int local_share = 1;
  std::optional<Store> store{};  // in place of the config's `store:`
  Post post{};
  Span reload_every = std::chrono::seconds{2};  // of config_file; 0: never
  Environment environment{};
};

/// The attributes that the vendor's key names: {{"portal", "42"}}.
using VendorKey = std::map<std::string, std::string, std::less<>>;
/// Units by dimension; a call costs 1 of "requests" unless it says otherwise.
using VendorCosts = std::map<std::string, std::int64_t, std::less<>>;

struct Acquired {
  bool allowed = false;
  bool impossible = false;                  // the cost is above what a limit can ever hold: no wait helps
  std::string id{};                         // of an allowed call: give it to observe or settle
  std::optional<std::int64_t> remaining{};  // least of all limits; empty: none, or nobody knows
  Span retry_after{};                       // of a denial: for the worker's own queue
  std::optional<TimePoint> frozen_until{};  // the vendor has refused
  std::optional<FailureMode> degraded{};    // decided by the failure mode, not by the store
};

/// What the vendor has answered.
struct VendorAnswer {
  int status = 0;  // HTTP; 0: no answer came
  Headers headers{};
  std::string reason{};  // its own error code in the body, where you have read it
};

struct ObserveRequest {
  std::string id{};  // of the acquire; empty: none is known
  VendorAnswer answer{};
  VendorCosts actual{};             // what the call has cost after all
  std::optional<TimePoint> sent{};  // known from `id` too
};

struct Observed {
  bool refused = false;                     // a limit of the vendor refused the call
  Span retry_after{};                       // until the key may be asked again; of a refusal never 0
  std::optional<TimePoint> frozen_until{};  // nobody starts before
  std::optional<std::int64_t> remaining{};
  std::vector<std::string> applied{};  // freeze, lowered, held, settled, returned, concurrency, older
  int unreadable = 0;                  // headers that say nothing
  std::optional<FailureMode> degraded{};
};

/// One key, for a person.
struct VendorState {
  struct OfLimit {
    Limit limit{};
    std::string dimension{};
    std::int64_t remaining = 0;
    std::optional<TimePoint> waits_until{};  // nothing is left until then, the vendor says
  };
  std::string key{};
  std::optional<TimePoint> frozen_until{};
  int refusals_in_a_row = 0;
  std::size_t in_flight = 0;
  std::vector<OfLimit> limits{};
};

/// Of execute_with_limit: the call was not made, or the vendor refused it. Put the job back for so long.
struct RateLimitExceeded {
  Span retry_after{};  // never 0
  std::optional<TimePoint> frozen_until{};
  bool by_vendor = false;  // the call was made, and refused
};

/// What a call of execute_with_limit hands back.
template <class T>
struct VendorReply {
  using Value = T;
  VendorAnswer answer{};
  T result{};
  VendorCosts actual{};
};

class Vendor {
 public:
  /// Errors: invalid_argument (every problem of the config, one per line), not_found (no such vendor), those
  /// of Store.
  static Result<Vendor> open(VendorOptions options);
  ~Vendor();
  Vendor(const Vendor&);
  Vendor(Vendor&&) noexcept;
  Vendor& operator=(const Vendor&);
  Vendor& operator=(Vendor&&) noexcept;

  /// May a call start now? Errors of all calls: invalid_argument (an attribute of the key is missing, an
  /// unknown dimension, a cost out of range, a broken id), not_found (a reload took the vendor away),
  /// unavailable (the store is away, and the vendor is closed then).
  Result<Acquired> acquire(const VendorKey& key, const VendorCosts& cost = {});
  void acquire(VendorKey key, VendorCosts cost, Callback<Acquired> done);
  /// After each call: lowers the bucket to what the vendor says is left, freezes the key for everybody where
  /// it refused.
  Result<Observed> observe(const VendorKey& key, const ObserveRequest& request);
  void observe(VendorKey key, ObserveRequest request, Callback<Observed> done);
  /// A call is over and its answer says nothing, or none came: gives it back. What it has cost stays spent,
  /// unless `actual` says less.
  Result<Observed> settle(const VendorKey& key, const std::string& id, const VendorCosts& actual = {});
  void settle(VendorKey key, std::string id, VendorCosts actual, Callback<Observed> done);
  /// An operator's: no call of this key starts for so long (at most 24 h); the longest freeze wins.
  Result<VendorState> freeze(const VendorKey& key, Span span);
  /// Ends a freeze; starts follow the bucket, which is empty.
  Result<VendorState> thaw(const VendorKey& key);
  Result<VendorState> inspect(const VendorKey& key);

  [[nodiscard]] Store store() const;

 private:
  struct Impl;
  explicit Vendor(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// What a worker does after an answer, and where the answer could not be told to the store. Empty: the
/// vendor has not refused the call.
[[nodiscard]] std::optional<RateLimitExceeded> refusal_of(const VendorAnswer& answer,
                                                          const Result<Observed>& observed);
/// Why a call must not start. Error: invalid_argument (no wait helps). Empty: it may.
[[nodiscard]] std::optional<Result<RateLimitExceeded>> denial_of(const Acquired& acquired);

/// The call's result, or when to try again. Errors: those of acquire; a store that is away after the call
/// loses no result, and an `actual` that is wrong is left out.
template <class T>
using Executed = Result<std::variant<T, RateLimitExceeded>>;

/// Asks, calls, tells the vendor's answer. `call()` returns a VendorReply<T>; where it throws, the call in
/// flight is given back first. Waits for the store, never for the vendor's limit.
template <class Call, class Reply = std::invoke_result_t<Call&>>
Executed<typename Reply::Value> execute_with_limit(Vendor& vendor, const VendorKey& key, Call&& call,
                                                   const VendorCosts& cost = {}) {
  using Value = typename Reply::Value;
  using Out = std::variant<Value, RateLimitExceeded>;
  const Result<Acquired> acquired = vendor.acquire(key, cost);
  if (!acquired) return acquired.error();
  if (const auto denied = denial_of(*acquired)) {
    if (!*denied) return denied->error();
    return Out(std::in_place_index<1>, **denied);
  }
  struct InFlight {
    ~InFlight() {
      if (!told) (void)vendor.settle(key, id);
    }
    Vendor& vendor;
    const VendorKey& key;
    const std::string& id;
    bool told = false;
  };
  InFlight in_flight{vendor, key, acquired->id};
  Reply reply = call();
  in_flight.told = true;
  auto observed =
      vendor.observe(key, {.id = acquired->id, .answer = reply.answer, .actual = std::move(reply.actual)});
  if (!observed && observed.error().code == ErrorCode::invalid_argument)
    observed = vendor.observe(key, {.id = acquired->id, .answer = reply.answer});
  if (auto refused = refusal_of(reply.answer, observed)) return Out(std::in_place_index<1>, *refused);
  return Out(std::in_place_index<0>, std::move(reply.result));
}

/// The same without waiting: `begin` starts the call and takes `finish`, a
/// std::function<void(VendorReply<T>)> to be called once, from any thread. Who never calls it gives the call
/// back by its lease.
template <class T, class Begin>
void execute_with_limit(Vendor vendor, VendorKey key, Begin begin,
                        Callback<std::variant<T, RateLimitExceeded>> done, VendorCosts cost = {}) {
  using Out = std::variant<T, RateLimitExceeded>;
  Vendor asked = vendor;
  VendorKey named = key;
  asked.acquire(std::move(named), std::move(cost),
                [vendor = std::move(vendor), key = std::move(key), begin = std::move(begin),
                 done = std::move(done)](Result<Acquired> acquired) mutable {
                  if (!acquired) return done(acquired.error());
                  if (const auto denied = denial_of(*acquired)) {
                    if (!*denied) return done(denied->error());
                    return done(Out(std::in_place_index<1>, **denied));
                  }
                  begin(std::function<void(VendorReply<T>)>([vendor, key, id = acquired->id,
                                                             done](VendorReply<T> reply) mutable {
                    auto kept = std::make_shared<VendorReply<T>>(std::move(reply));
                    ObserveRequest request{.id = id, .answer = kept->answer, .actual = kept->actual};
                    // The handle stays until it is observed.
                    const auto told = [vendor, kept, done](const Result<Observed>& observed) {
                      if (auto refused = refusal_of(kept->answer, observed))
                        return done(Out(std::in_place_index<1>, *refused));
                      done(Out(std::in_place_index<0>, std::move(kept->result)));
                    };
                    vendor.observe(key, std::move(request),
                                   [vendor, key, id, kept, told](const Result<Observed>& observed) mutable {
                                     if (observed || observed.error().code != ErrorCode::invalid_argument)
                                       return told(observed);
                                     vendor.observe(key, {.id = id, .answer = kept->answer}, told);
                                   });
                  }));
                });
}

}  // namespace dripgate::DRIPGATE_V1
