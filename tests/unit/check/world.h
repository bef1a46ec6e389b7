// What the check tests share: a Checker over the memory store on virtual time, with a store that can be taken
// away.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "check/check.h"
#include "store/failover/failover_store.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"

namespace dripgate::check {

using namespace std::chrono_literals;

/// The policies of the original design.
inline constexpr const char* kOriginal = R"(
    - id: api-free
      match: { plan: free }
      key: [apiKey]
      algorithm: token-bucket
      capacity: 20
      refillPerMinute: 100
      onStoreFailure: local
    - id: login
      match: { route: "POST /auth/login" }
      key: [ip, username]
      algorithm: sliding-log
      limit: 10
      window: 60s
      onStoreFailure: closed
)";

/// A memory store that can go away: every call then fails at once.
class FickleStore final : public store::CounterStore {
 public:
  explicit FickleStore(Clock& clock) : memory_(store::make_memory_counter_store(clock, 10'000)) {}

  void consume(store::Charges charges, Done<core::Decision> done) override {
    ++consumes;
    if (away) return done(gone());
    if (!refused.empty() && charges.front().key.contains(refused))
      return done(fail(ErrorCode::invalid_argument, "refused by the test"));
    if (!slow) return memory_->consume(std::move(charges), std::move(done));
    under_way.emplace_back([this, charges = std::move(charges), done = std::move(done)]() mutable {
      memory_->consume(std::move(charges), std::move(done));
    });
  }
  void peek(store::Charges charges, Done<core::Decision> done) override {
    if (away) return done(gone());
    memory_->peek(std::move(charges), std::move(done));
  }
  void refund(store::Refund refund, Done<bool> done) override {
    if (away) return done(gone());
    memory_->refund(std::move(refund), std::move(done));
  }
  void reset(std::string key, Done<void> done) override { memory_->reset(std::move(key), std::move(done)); }
  void inspect(store::Charge charge, Done<store::CounterView> done) override {
    memory_->inspect(std::move(charge), std::move(done));
  }

  bool away = false;
  bool slow =
      false;  // the next consumes wait in `under_way` until the test runs them; StoreAnswers::in_time only
  std::vector<Task> under_way;
  int consumes = 0;
  std::string refused;  // keys with this in them are a fault of the request

 private:
  static std::unexpected<Error> gone() { return fail(ErrorCode::timed_out, "away", true); }
  std::unique_ptr<store::CounterStore> memory_;
};

class Seen final : public Observer {
 public:
  void on_decision(const Answer& answer, Duration) override { kinds.emplace_back(to_string(answer.kind)); }
  std::vector<std::string> kinds;
};

inline config::ConfigPtr config_of(const std::string& text) {
  auto loaded = config::parse(text, "test.yaml");
  for (const auto& problem : loaded.problems) {
    if (!problem.warning) ADD_FAILURE() << config::to_string(problem);
  }
  return std::make_shared<const config::Config>(std::move(loaded.config).value());
}

class World {
 public:
  explicit World(const std::string& policies, store::StoreAnswers answers = store::StoreAnswers::at_once)
      : config(config_of("policies:\n" + policies)),
        store(shared, [](std::string_view) { return std::size_t{0}; }, local, executor, clock, {}, answers) {}

  Result<Answer> try_check(Request request) {
    std::optional<Result<Answer>> got;
    checker.check(std::move(request), [&](Result<Answer> answer) {
      EXPECT_FALSE(got.has_value()) << "answered twice";
      got = std::move(answer);
    });
    if (!got) return fail(ErrorCode::cancelled, "not answered");
    return *std::move(got);
  }
  Answer check(core::Descriptor descriptor, core::Units cost = 1) {
    return ask({.descriptor = std::move(descriptor), .cost = cost});
  }
  Answer peek(core::Descriptor descriptor, core::Units cost = 1) {
    return ask({.descriptor = std::move(descriptor), .cost = cost, .peek = true});
  }
  Answer ask(Request request) {
    auto answer = try_check(std::move(request));
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer ? *std::move(answer) : Answer{};
  }
  /// How many of `times` equal requests are allowed.
  int allowed(int times, const core::Descriptor& descriptor) {
    int count = 0;
    for (int i = 0; i < times; ++i) count += check(descriptor).allowed() ? 1 : 0;
    return count;
  }
  Result<bool> refund(const std::string& id) {
    std::optional<Result<bool>> got;
    checker.refund(id, [&](Result<bool> answer) { got = std::move(answer); });
    return got.value_or(fail(ErrorCode::cancelled, "not answered"));
  }

  config::ConfigPtr config;
  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  FickleStore shared{clock};
  store::LocalCounters local{clock, 10'000};
  store::FailoverStore store;
  Seen seen;
  Checker checker{{.config = [this] { return config; },
                   .store = store,
                   .clock = clock,
                   .observer = seen,
                   .refund_key = HashKey{1, 2}}};
};

}  // namespace dripgate::check
