// A gate for fuzz targets: a Checker over the memory store, on virtual time that goes on by a week from one
// input to the next, so that no input meets what another one spent.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "check/check.h"
#include "fuzz/require.h"
#include "server/gate_service.h"
#include "store/failover/failover_store.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"

namespace dripgate::fuzz {

/// Every limit of these policies is kLimit units, for costs to be told from budgets.
inline constexpr int kLimit = 3;
inline constexpr const char* kPolicies = R"(
policies:
  - { id: user, match: { user: "*" }, key: [user], limit: 3, window: 1h, onStoreFailure: closed }
  - { id: login, match: { route: "POST /auth/login" }, key: [ip, username], algorithm: sliding-log, limit: 3, window: 60s, onStoreFailure: closed }
  - { id: login-name, match: { route: "POST /auth/login" }, key: [{ name: username, trim: true, lower: true }], limit: 3, window: 60s, onStoreFailure: local }
  - { id: api, match: { path: "*" }, key: [ip], algorithm: token-bucket, capacity: 3, refillPerHour: 3, onStoreFailure: open }
  - { id: keyed, match: { apiKey: "*" }, key: [tenant, apiKey], limits: [ { limit: 3, window: 7s }, { limit: 3, window: 1d } ], onMissingKey: deny, onStoreFailure: closed }
  - { id: trial, match: { plan: "free*" }, key: [plan, ip], limit: 3, window: 90s, shadow: true, onStoreFailure: closed }
  - { id: again, match: { retry: "*" }, key: [retry], limit: 3, window: 60s, onStoreFailure: closed, idempotency: { ttl: 10m, maxReplays: 2 } }
server:
  trustedProxies: ["10.0.0.0/8", "2001:db8:ffff::/48"]
  forwardAuth: { attributes: { plan: "header:x-plan", apiKey: "header:x-api-key", tenant: "header:x-tenant", username: "header:x-user", user: "header:x-id" } }
)";

class Gate final : public server::GateService, private check::Observer {
 public:
  Gate() {
    auto loaded = config::parse(kPolicies, "fuzz.yaml");
    for (const config::Problem& problem : loaded.problems)
      require(problem.warning, "the gate's own policies load", config::to_string(problem));
    config = std::make_shared<const config::Config>(*std::move(loaded.config));
  }

  /// The next input has the gate for itself.
  void next_input() { clock_.advance(std::chrono::hours{24 * 7}); }

  void check(check::Request request, Done<check::Answer> done) override {
    checker_.check(std::move(request), std::move(done));
  }
  void refund(const std::string& id, Done<bool> done) override { checker_.refund(id, std::move(done)); }
  void explain(check::Request request, Done<check::Explanation> done) override {
    checker_.explain(std::move(request), std::move(done));
  }

  Result<check::Answer> ask(check::Request request) {
    std::optional<Result<check::Answer>> got;
    check(std::move(request), [&](Result<check::Answer> answer) {
      require(!got, "a check is answered once");
      got = std::move(answer);
    });
    require(got.has_value(), "a check is answered");
    return *std::move(got);
  }
  Result<bool> give_back(const std::string& id) {
    std::optional<Result<bool>> got;
    refund(id, [&](Result<bool> answer) { got = std::move(answer); });
    require(got.has_value(), "a refund is answered");
    return *std::move(got);
  }

  config::ConfigPtr config;

 private:
  static constexpr std::size_t kKeysMax = 10'000;

  void on_decision(const check::Answer& /*answer*/, Duration /*took*/) override {}

  testing::VirtualClock clock_;
  testing::SimExecutor executor_{clock_};
  std::unique_ptr<store::CounterStore> memory_ = store::make_memory_counter_store(clock_, kKeysMax);
  store::LocalCounters local_{clock_, kKeysMax};
  store::FailoverStore store_{*memory_, [](std::string_view) { return std::size_t{0}; }, local_, executor_,
                              clock_};
  check::Checker checker_{{.config = [this] { return config; },
                           .store = store_,
                           .clock = clock_,
                           .observer = *this,
                           .refund_key = HashKey{1, 2}}};
};

}  // namespace dripgate::fuzz
