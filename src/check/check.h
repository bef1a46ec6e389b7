// Checker: the gate's use case. Facts of one request in, one decision of all matching policies out: every
// enforced policy allows, or nothing is spent on any.
//
// For a front end (HTTP routes, Envoy RLS, the library):
//
//   check::Checker checker({.config = [&] { return snapshot.get(); }, .store = failover, .clock = steady,
//                           .observer = metrics});
//   checker.check({.descriptor = {{"plan", "free"}, {"apiKey", key}}}, [](Result<check::Answer> answer) {
//     if (!answer) ...            // only invalid_argument: the request itself is wrong
//     else if (answer->allowed()) // answer->policies have the numbers; answer->deciding() is for headers
//   });
//
// Threads: a Checker lives on the executor of its GuardedStore; check, refund and explain are called there
// and `done` runs there, once, maybe within the call. From another thread: executor.post([...] {
// checker.check(...) }). One Checker per I/O thread is fine; idempotency is remembered per Checker.
// The config is asked for once per request: a reload takes effect with the next one.
//
// The facts `route` and `path` are brought to one spelling here (check/route.h), `ip` is counted per network
// (core/counter_key.h); the address of a client behind proxies is found with check/client_address.h. What a
// client can set freely must not become a fact.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/guard.h"
#include "base/time.h"
#include "check/answer.h"
#include "check/explanation.h"
#include "check/observer.h"
#include "check/refund_id.h"
#include "check/replays.h"
#include "store/guarded_store.h"

namespace dripgate::check {

/// A denial over a local share that can never hold the cost waits for the store to come back.
inline constexpr Duration kStoreBackWait = std::chrono::seconds{1};

struct Request {
  core::Descriptor descriptor;
  core::Units cost = 1;           // 0: asks without taking, still denied when nothing is left
  bool peek = false;              // the same decision, nothing taken, nothing remembered
  bool refundable = true;         // false: the answer needs no refund_id
  std::string idempotency_key{};  // for policies with `idempotency`; empty: none
  /// A limit that the request brings along, from who may say so: in place of those of the most specific
  /// policy that limits it, on a counter of its own. Null: none.
  std::shared_ptr<const core::Limit> limit{};
};

/// Everything outlives the Checker.
struct CheckerContext {
  std::function<config::ConfigPtr()> config;
  store::GuardedStore& store;
  const Clock& clock;  // does not step: for idempotency and the time a decision took
  Observer& observer;
  HashKey refund_key;  // processes that share it take each other's refund ids
};

class Checker {
 public:
  explicit Checker(CheckerContext context) : context_(std::move(context)) {}

  /// Error: invalid_argument (a negative cost, more than kChargesPerRequestMax limits on one request).
  void check(Request request, Done<Answer> done);

  /// Gives back what the check with this Answer.refund_id took: once, and never into a later window. False:
  /// it was given back before, or its windows are over, or its policies are gone. A retry under its
  /// idempotency key is charged from here on, whatever comes of it. Errors: invalid_argument
  /// (no id of ours), unavailable, timed_out (both: ask again with the same id).
  void refund(const std::string& refund_id, Done<bool> done);

  /// Which policies match and why the others do not, their keys and state; nothing is taken.
  void explain(Request request, Done<Explanation> done);

 private:
  friend class CheckCall;

  CheckerContext context_;
  Replays replays_;
  RefundIds refund_ids_{context_.refund_key};
  Guard guard_;
};

}  // namespace dripgate::check
