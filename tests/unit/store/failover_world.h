// What the failover tests share: a shared store of several shards that fails by script, on virtual time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/failover/failover_store.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"
#include "unit/core/counter_support.h"

namespace dripgate::store {

using core::FailureMode;
using core::Verdict;
using namespace std::chrono_literals;

inline constexpr Duration kDeadline = 5ms;     // of a store call
inline constexpr Duration kRoundTrip = 200us;  // of a healthy one

/// Keys are "SHARD/rest": the shard is the digit in front.
inline std::size_t shard_of(std::string_view key) {
  return static_cast<std::size_t>(key.at(0) - '0');
}

/// A memory store behind a network: each shard answers, refuses, or says nothing until the deadline.
class ScriptedStore final : public CounterStore {
 public:
  enum class Health : std::uint8_t {
    well,
    refuses,   // an error reply after a round trip
    hangs,     // no answer: timed_out at the deadline, nothing counted
    too_late,  // counts, and times out
  };
  ScriptedStore(testing::SimExecutor& executor, Clock& clock)
      : executor_(executor), memory_(make_memory_counter_store(clock, 10'000)) {}

  void consume(Charges charges, Done<core::Decision> done) override {
    const std::size_t shard = shard_of(charges.front().key);
    for (const Charge& charge : charges) EXPECT_EQ(shard_of(charge.key), shard) << "one shard per call";
    ++calls[shard];
    probes[shard] += charges.size() == 1 && charges.front().cost == 0 ? 1 : 0;
    answer<core::Decision>(shard, std::move(done), [this, charges](Done<core::Decision> take) {
      memory_->consume(charges, std::move(take));
    });
  }
  void refund(Refund refund, Done<bool> done) override {
    refunds.push_back(refund);
    refund.request_id +=
        "/shard " + std::to_string(shard_of(refund.charges.front().key));  // remembered by each
    answer<bool>(shard_of(refund.charges.front().key), std::move(done),
                 [this, refund](Done<bool> take) { memory_->refund(refund, std::move(take)); });
  }
  void peek(Charges charges, Done<core::Decision> done) override {
    answer<core::Decision>(
        shard_of(charges.front().key), std::move(done),
        [this, charges](Done<core::Decision> take) { memory_->peek(charges, std::move(take)); });
  }
  void reset(std::string, Done<void>) override { FAIL() << "never asked"; }
  void inspect(Charge charge, Done<CounterView> done) override {
    memory_->inspect(std::move(charge), std::move(done));
  }

  /// How many units the shared store has left.
  core::Units left(const Charge& charge) {
    core::Units units = -1;
    inspect(charge, [&](Result<CounterView> view) { units = view->outcome.remaining; });
    return units;
  }

  std::map<std::size_t, Health> health;
  std::map<std::size_t, int> calls, probes;
  std::vector<Refund> refunds;
  ErrorCode refusal = ErrorCode::unavailable;
  bool at_once = false;  // a healthy shard answers within the call

 private:
  template <class Answer, class Take>
  void answer(std::size_t shard, Done<Answer> done, Take take) {
    const Health now = health[shard];
    if (now == Health::well && at_once) return take(std::move(done));
    if (now == Health::too_late) take([](Result<Answer>) {});
    const bool silent = now == Health::hangs || now == Health::too_late;
    executor_.post_after(silent ? kDeadline : kRoundTrip, [this, now, done = std::move(done),
                                                           take = std::move(take)]() mutable {
      if (now == Health::well) return take(std::move(done));
      done(now == Health::refuses ? fail(refusal, "by script", true)
                                  : fail(ErrorCode::timed_out, "no answer by script", true));
    });
  }

  testing::SimExecutor& executor_;
  std::unique_ptr<CounterStore> memory_;
};

class FailoverTest : public ::testing::Test {
 protected:
  using Health = ScriptedStore::Health;

  static GuardedCharge charge(std::string key, FailureMode mode, core::Limit limit = core::tb(10, 10, 60s),
                              core::Units cost = 1, int share = 1) {
    return {.charge = {.key = std::move(key), .limit = std::move(limit), .cost = cost},
            .on_store_failure = mode,
            .local_share = share};
  }

  struct Answered {
    Result<core::Decision> decision;
    Duration after;
  };
  /// The answer is filled in when it comes; twice is a failure.
  std::shared_ptr<std::optional<Answered>> ask(GuardedCharges charges) {
    auto slot = std::make_shared<std::optional<Answered>>();
    const Duration began = executor.elapsed();
    store->consume(std::move(charges), [this, slot, began](Result<core::Decision> decision) {
      EXPECT_FALSE(slot->has_value()) << "done ran twice";
      *slot = Answered{std::move(decision), executor.elapsed() - began};
    });
    return slot;
  }
  Answered settle(GuardedCharges charges) {
    const auto slot = ask(std::move(charges));
    while (!slot->has_value() && executor.run_one()) {
    }
    EXPECT_TRUE(slot->has_value()) << "an answer was lost";
    return slot->value_or(Answered{fail(ErrorCode::cancelled, "lost"), {}});
  }
  core::Decision decide(GuardedCharges charges) {
    const Answered got = settle(std::move(charges));
    EXPECT_TRUE(got.decision) << got.decision.error().detail;
    return got.decision.value_or(core::Decision{});
  }
  /// Fails calls of that shard until its breaker opens.
  void open_breaker(std::size_t shard) {
    const std::string key = std::to_string(shard) + "/opening";
    for (int i = 0; i < 20 && breaker(shard) == core::Breaker::State::closed; ++i)
      settle({charge(key, FailureMode::open)});
    ASSERT_EQ(breaker(shard), core::Breaker::State::open);
  }
  [[nodiscard]] core::Breaker::State breaker(std::size_t shard) const {
    return store->counters().breakers.at(shard).load();
  }
  [[nodiscard]] std::uint64_t degraded(FailureMode mode) const {
    return store->counters().degraded.at(static_cast<std::size_t>(mode)).load();
  }
  [[nodiscard]] std::uint64_t errors(ErrorCode code) const {
    return store->counters().store_errors.at(static_cast<std::size_t>(code)).load();
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  ScriptedStore shared{executor, clock};
  LocalCounters local{clock, 10'000};
  std::unique_ptr<FailoverStore> store =
      std::make_unique<FailoverStore>(shared, shard_of, local, executor, clock);
};

}  // namespace dripgate::store
