// Limiter: checks in front of an API or inside a service, in this process: every matching policy allows, or
// nothing is spent on any.
//
//   auto limiter = dripgate::Limiter::open({.config_file = "gate.yaml"});
//   if (!limiter) return fail(limiter.error().detail);
//   auto decision = limiter->check({.facts = {{"plan", "free"}, {"apiKey", key}}});
//   if (decision && !decision->allowed()) ... // decision->status, ->headers, ->problem
//
// Threads: every call is safe from every thread. The synchronous form waits for the store: on memory it is
// done within the call; on SQLite it waits for a commit, on Redis for an answer, at most the store's timeout.
// The callback form never waits: the callback runs once, through `post` when the options have one, else
// within the call or on the store's thread; never under a lock. A synchronous call on the store's own thread
// (in a callback without `post`) is refused as invalid_argument. What is not answered when the Limiter ends
// is answered `cancelled`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dripgate/decision.h"
#include "dripgate/policy.h"
#include "dripgate/result.h"
#include "dripgate/store.h"

namespace dripgate::DRIPGATE_V1 {

/// Facts and what the request costs. `route`, `path`, `method` and `ip` are brought to one spelling; a
/// request with `method` and `path` has a `route`. What a client can set freely must not become a fact.
struct Request {
  std::map<std::string, std::string, std::less<>> facts{};
  std::int64_t cost = 1;          // 0: asks without taking, still denied when nothing is left
  std::string idempotency_key{};  // for policies with idempotency; empty: none
};

/// Looks an environment variable up for `{env: NAME}` in a config; empty: not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct LimiterOptions {
  /// One of the three says what is limited.
  std::string config_file{};       // dripgate.yaml; looked at again every `reload_every`
  std::string config_text{};       // the same as text; relative paths start at the working directory
  std::vector<Policy> policies{};  // in code
  std::optional<Store> store{};    // in place of the config's `store:`; empty, and none there: memory
  Post post{};                     // where callbacks run
  Span reload_every = std::chrono::seconds{2};  // 0: only by reload()
  /// Hears of every look at the config file that changed or refused something, one line per problem; on the
  /// store's thread. A refused set changes nothing.
  std::function<void(bool changed, const std::vector<std::string>& problems)> on_reload{};
  Environment environment{};  // empty: the process' own
};

class Limiter {
 public:
  /// Errors: invalid_argument (every problem of the config, one per line), those of Store.
  static Result<Limiter> open(LimiterOptions options);
  ~Limiter();
  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;

  /// Takes the cost from every matching limit, or from none. A store that is away is no error: the policies'
  /// failure modes decide. Error: invalid_argument (a negative cost, too many limits on one request).
  Result<Decision> check(const Request& request);
  void check(Request request, Callback<Decision> done);
  /// The same decision, nothing taken.
  Result<Decision> peek(const Request& request);
  void peek(Request request, Callback<Decision> done);
  /// Gives back what the check with this Decision::refund_id took: once, never into a later window, by this
  /// Limiter. False: there is nothing to give back (any more). Errors: invalid_argument (no id of ours),
  /// unavailable, timed_out (ask again with the same id).
  Result<bool> refund(const std::string& refund_id);
  void refund(std::string refund_id, Callback<bool> done);
  /// Which policies match and why the others do not, their keys and state; nothing is taken.
  Result<Explanation> explain(const Request& request);
  void explain(Request request, Callback<Explanation> done);

  /// The client's address behind proxies: `peer` is who is connected, `forwarded_for` the values of
  /// X-Forwarded-For in order; only proxies of the config's server.trustedProxies (default: loopback) are
  /// believed.
  [[nodiscard]] std::string client_address(std::string_view peer,
                                           const std::vector<std::string_view>& forwarded_for) const;

  /// Looks at config_file now. True: another set is in force. Error: invalid_argument, one line per problem;
  /// the set in force stays.
  Result<bool> reload();
  /// First 12 hex digits of the SHA-256 of the config in force.
  [[nodiscard]] std::string version() const;
  /// To share with a Scheduler or another Limiter.
  [[nodiscard]] Store store() const;

 private:
  struct Impl;
  explicit Limiter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::DRIPGATE_V1
