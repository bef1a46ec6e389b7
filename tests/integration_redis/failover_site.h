// A FailoverStore over two real Redis servers: shard 0 behind a proxy that can be slow, shard 1 direct. For
// tests and bench/failover.cc.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/io_loop.h"
#include "redis/make_client.h"
#include "store/failover/failover_store.h"
#include "store/redis/stores.h"
#include "support/redis/redis_server.h"
#include "support/redis/slow_proxy.h"
#include "support/steady_clock.h"

namespace dripgate::testing {

/// Keys of tag "a" are on shard 0, all others on shard 1.
inline std::size_t site_shard(std::string_view key) {
  return key.starts_with("rl:{a}") ? 0 : 1;
}

/// Two servers as one store, as a cluster's client is.
class TwoServers final : public store::CounterStore {
 public:
  TwoServers(redis::Client& first, redis::Client& second)
      : stores_{store::make_redis_counter_store(first), store::make_redis_counter_store(second)} {}
  void consume(store::Charges charges, Done<core::Decision> done) override {
    of(charges.front().key).consume(std::move(charges), std::move(done));
  }
  void peek(store::Charges charges, Done<core::Decision> done) override {
    of(charges.front().key).peek(std::move(charges), std::move(done));
  }
  void refund(store::Refund refund, Done<bool> done) override {
    of(refund.charges.front().key).refund(std::move(refund), std::move(done));
  }
  void reset(std::string key, Done<void> done) override { of(key).reset(key, std::move(done)); }
  void inspect(store::Charge charge, Done<store::CounterView> done) override {
    of(charge.key).inspect(std::move(charge), std::move(done));
  }

 private:
  store::CounterStore& of(std::string_view key) { return *stores_[site_shard(key)]; }
  std::array<std::unique_ptr<store::CounterStore>, 2> stores_;
};

class FailoverSite {
 public:
  static constexpr int kLimit = 100;  // units in an hour, as a sliding log

  explicit FailoverSite(Duration deadline) {
    for (const std::uint16_t port : {proxy.port(), second.port()}) {
      redis::Options options{.nodes = {{.host = "127.0.0.1", .port = port}}, .timeout = deadline};
      clients.push_back(redis::make_client(loop, std::move(options)).value());
    }
    servers = std::make_unique<TwoServers>(*clients[0], *clients[1]);
    store = std::make_unique<store::FailoverStore>(*servers, site_shard, local, loop, clock);
  }
  ~FailoverSite() {
    store.reset();
    servers.reset();
    clients.clear();
    loop.run_for(std::chrono::milliseconds{1});  // the closes run
  }
  FailoverSite(const FailoverSite&) = delete;
  FailoverSite& operator=(const FailoverSite&) = delete;

  [[nodiscard]] static store::GuardedCharge charge(const std::string& tag, core::FailureMode mode) {
    return {.charge = {.key = "rl:{" + tag + "}:" + std::to_string(static_cast<int>(mode)),
                       .limit = {.algorithm = core::Algorithm::token_bucket,
                                 .limit = mode == core::FailureMode::open ? 100'000 : kLimit,
                                 .window = std::chrono::hours{24},
                                 .capacity = mode == core::FailureMode::open ? 100'000 : kLimit,
                                 .zone = nullptr}},
            .on_store_failure = mode};
  }

  /// Drives the loop until it holds.
  template <class Holds>
  bool until(Holds holds, std::chrono::milliseconds patience = std::chrono::milliseconds{30'000}) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_for(std::chrono::milliseconds{1});
    }
    return true;
  }
  Result<core::Decision> decide(store::GuardedCharges charges) {
    std::optional<Result<core::Decision>> got;
    store->consume(std::move(charges), [&](Result<core::Decision> decision) { got = std::move(decision); });
    if (!until([&] { return got.has_value(); })) return fail(ErrorCode::timed_out, "the answer was lost");
    return *std::move(got);
  }
  /// Empty: it did not answer within the call.
  std::optional<core::Decision> answered_at_once(store::GuardedCharges charges) {
    auto got = std::make_shared<std::optional<core::Decision>>();
    store->consume(std::move(charges), [got](Result<core::Decision> decision) {
      if (decision) *got = *std::move(decision);
    });
    return *got;
  }
  /// Units left in Redis; -1: it did not say.
  core::Units left(const store::GuardedCharge& asked) {
    std::optional<core::Units> units;
    servers->inspect(asked.charge,
                     [&](Result<store::CounterView> view) { units = view ? view->outcome.remaining : -1; });
    until([&] { return units.has_value(); });
    return units.value_or(-1);
  }
  [[nodiscard]] core::Breaker::State breaker(std::size_t shard) const {
    return store->counters().breakers.at(shard).load();
  }

  RedisServer first, second;
  SlowProxy proxy{first.port()};
  SteadyClock clock;
  store::LocalCounters local{clock};
  net::IoLoop loop;
  std::vector<std::unique_ptr<redis::Client>> clients;
  std::unique_ptr<TwoServers> servers;
  std::unique_ptr<store::FailoverStore> store;
};

}  // namespace dripgate::testing
