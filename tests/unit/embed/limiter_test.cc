// The library's Limiter through its public headers alone, on stores of this process.
#include "dripgate/limiter.h"

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace {

using dripgate::Decision;
using dripgate::ErrorCode;
using dripgate::FailureMode;
using dripgate::Limit;
using dripgate::Limiter;
using dripgate::LimiterOptions;
using dripgate::Policy;
using dripgate::Request;
using dripgate::Result;

constexpr const char* kGate = R"(
policies:
  - id: api-free
    match: { plan: free }
    key: [apiKey]
    algorithm: token-bucket
    capacity: 20
    refillPerMinute: 1
    onStoreFailure: local
)";
const Request kFree{.facts = {{"plan", "free"}, {"apiKey", "k-1"}}};

Limiter opened(LimiterOptions options) {
  Result<Limiter> limiter = Limiter::open(std::move(options));
  if (!limiter) ADD_FAILURE() << limiter.error().detail;
  return *std::move(limiter);
}

std::string header(const Decision& decision, const std::string& name) {
  for (const auto& [key, value] : decision.headers)
    if (key == name) return value;
  return "absent";
}

Policy per_user(std::int64_t limit) {
  return {.id = "per-user",
          .key = {"user"},
          .limits = {Limit::sliding(limit, std::chrono::hours{1})},
          .on_store_failure = FailureMode::closed};
}

/// Callbacks wait here until the test runs them: an event loop by hand.
class Inbox {
 public:
  dripgate::Post post() {
    return [this](std::function<void()> task) {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
      came_.notify_one();
    };
  }
  /// As a loop that was stopped: what it has, and what still comes, is never run.
  void drop_all() {
    const std::scoped_lock lock(mutex_);
    tasks_.clear();
  }
  std::size_t waiting() {
    const std::scoped_lock lock(mutex_);
    return tasks_.size();
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return !tasks_.empty(); });
    const auto task = std::move(tasks_.front());
    tasks_.erase(tasks_.begin());
    lock.unlock();
    task();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::function<void()>> tasks_;
};

TEST(Limiter, LetsTwentyPassAndGivesTheTwentyFirstTheWholeContract) {
  Limiter limiter = opened({.config_text = kGate});
  for (int i = 0; i < 20; ++i) {
    const auto passed = limiter.check(kFree);
    ASSERT_TRUE(passed);
    ASSERT_TRUE(passed->allowed()) << i;
    EXPECT_EQ(passed->remaining, 19 - i);
    EXPECT_EQ(passed->limit, 20);
    EXPECT_FALSE(passed->refund_id.empty());
  }
  const auto refused = limiter.check(kFree);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->outcome, dripgate::Outcome::denied);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->policy, "api-free");
  EXPECT_EQ(refused->remaining, 0);
  ASSERT_TRUE(refused->retry_after);
  EXPECT_GT(*refused->retry_after, std::chrono::seconds{30});
  EXPECT_LE(*refused->retry_after, std::chrono::seconds{60});
  EXPECT_FALSE(refused->degraded);
  EXPECT_EQ(header(*refused, "RateLimit-Policy"), "\"api-free\";q=1;w=60");
  EXPECT_TRUE(header(*refused, "RateLimit").starts_with("\"api-free\";r=0;t="));
  EXPECT_NE(header(*refused, "Retry-After"), "absent");
  EXPECT_EQ(header(*refused, "Cache-Control"), "no-store");
  EXPECT_NE(refused->problem.find(R"("type":"/errors/rate-limited")"), std::string::npos) << refused->problem;
  ASSERT_EQ(refused->policies.size(), 1u);
  EXPECT_FALSE(refused->policies[0].allowed);
}

TEST(Limiter, TakesPoliciesFromCodeAndAnotherKeyHasItsOwnBudget) {
  Limiter limiter = opened({.policies = {per_user(1)}});
  EXPECT_TRUE(limiter.check({.facts = {{"user", "a"}}})->allowed());
  EXPECT_FALSE(limiter.check({.facts = {{"user", "a"}}})->allowed());
  EXPECT_TRUE(limiter.check({.facts = {{"user", "b"}}})->allowed());
}

TEST(Limiter, SaysEverythingInCodeThatAFileCanSay) {
  Policy policy{.id = "all",
                .name = "shown",
                .match = {{"route", {"GET /users/{id}", "/api/**"}}, {"plan", {"free", "tr*"}}},
                .key = {"apiKey", dripgate::KeyPart("user")},
                .scope = "user",
                .limits = {Limit::fixed(5, std::chrono::seconds{1}), Limit::daily(50, "Asia/Kolkata"),
                           Limit::bucket(7, 3, std::chrono::microseconds{90'000'001})},
                .on_store_failure = FailureMode::local,
                .local_share = 4,
                .on_missing_key = dripgate::MissingKey::skip,
                .shadow = true,
                .idempotency = dripgate::Idempotency{.ttl = std::chrono::minutes{10}, .max_replays = 3}};
  policy.key[1].lower = true;
  policy.overrides = {{.value = "0123456789abcdef", .unlimited = true}};
  Limiter limiter = opened({.policies = {policy}});
  const auto told = limiter.explain(
      {.facts = {{"route", "GET /users/7"}, {"plan", "trial"}, {"apiKey", "k"}, {"user", "Manoj"}}});
  ASSERT_TRUE(told);
  ASSERT_EQ(told->matched.size(), 1u);
  const dripgate::ExplainedPolicy& all = told->matched[0];
  EXPECT_EQ(all.role, dripgate::Role::shadow);
  ASSERT_EQ(all.limits.size(), 3u);
  EXPECT_EQ(all.limits[1].limit.timezone, "Asia/Kolkata");
  EXPECT_EQ(all.limits[2].limit.capacity, 7);
  EXPECT_EQ(all.limits[2].limit.window, std::chrono::microseconds{90'000'001});
  EXPECT_NE(all.limits[0].counter_key.find("manoj"), std::string::npos) << all.limits[0].counter_key;
}

TEST(Limiter, RefusesInCodeWhatAFileIsRefusedForAndNamesThePolicy) {
  Policy silent = per_user(1);
  silent.on_store_failure.reset();
  const auto refused = Limiter::open({.policies = {per_user(5), silent}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("policies in code:3:"), std::string::npos) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("onStoreFailure"), std::string::npos) << refused.error().detail;
  EXPECT_FALSE(Limiter::open({}));
  EXPECT_FALSE(Limiter::open({.config_text = kGate, .policies = {per_user(1)}}));
}

TEST(Limiter, PeeksWithoutTakingAndGivesARefundOnce) {
  Limiter limiter = opened({.policies = {per_user(1)}});
  const Request request{.facts = {{"user", "a"}}};
  EXPECT_EQ(limiter.peek(request)->remaining, 0);
  EXPECT_TRUE(limiter.peek(request)->allowed());
  const std::string id = limiter.check(request)->refund_id;
  EXPECT_FALSE(limiter.peek(request)->allowed());
  EXPECT_TRUE(*limiter.refund(id));
  EXPECT_FALSE(*limiter.refund(id));
  EXPECT_TRUE(limiter.check(request)->allowed());
  EXPECT_EQ(limiter.refund("made up").error().code, ErrorCode::invalid_argument);
}

TEST(Limiter, ExplainsWhichPoliciesMatchAndWhyOthersDoNot) {
  Limiter limiter = opened({.config_text = kGate});
  const auto told = limiter.explain({.facts = {{"plan", "paid"}}});
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->matched.empty());
  ASSERT_EQ(told->others.size(), 1u);
  EXPECT_EQ(told->others[0].id, "api-free");
  EXPECT_EQ(told->others[0].fact, "plan");
  EXPECT_EQ(told->others[0].accepted, std::vector<std::string>{"free"});
}

TEST(Limiter, AnswersThroughPostAndNotBefore) {
  Inbox inbox;
  Limiter limiter = opened({.policies = {per_user(1)}, .post = inbox.post()});
  std::optional<bool> allowed;
  limiter.check({.facts = {{"user", "a"}}},
                [&](Result<Decision> decision) { allowed = decision->allowed(); });
  EXPECT_FALSE(allowed);
  inbox.run_one();
  EXPECT_EQ(allowed, true);
  EXPECT_EQ(inbox.waiting(), 0u);
}

TEST(Limiter, ALoopThatIsStoppedOrOutlivesItHoldsUpNobody) {
  const dripgate::testing::ScratchFolder folder;
  for (const bool file : {false, true}) {
    auto store = file ? dripgate::Store::sqlite(folder.path("loop.db")) : dripgate::Store::memory();
    ASSERT_TRUE(store);
    Inbox inbox;
    int heard = 0;
    std::optional<Limiter> limiter =
        opened({.policies = {per_user(100)}, .store = *std::move(store), .post = inbox.post()});
    const auto ask = [&] { limiter->check({.facts = {{"user", "a"}}}, [&](Result<Decision>) { ++heard; }); };
    for (int i = 0; i < 20; ++i) ask();
    EXPECT_TRUE(limiter->check({.facts = {{"user", "b"}}}));  // waits for no loop
    inbox.drop_all();
    for (int i = 0; i < 20; ++i) ask();
    limiter.reset();
    EXPECT_EQ(heard, 0);
    const std::size_t kept = inbox.waiting();  // 20, and of the file those that came after the drop
    EXPECT_GE(kept, 20u);
    for (std::size_t i = 0; i < kept; ++i) inbox.run_one();
    EXPECT_EQ(heard, static_cast<int>(kept));
  }
}

TEST(Limiter, ACallbackMayAskAgainAndEndTheLimiter) {
  const dripgate::testing::ScratchFolder folder;
  for (const bool file : {false, true}) {
    auto store = file ? dripgate::Store::sqlite(folder.path("end.db")) : dripgate::Store::memory();
    ASSERT_TRUE(store);
    auto limiter = std::make_shared<Limiter>(opened({.policies = {per_user(2)}, .store = *std::move(store)}));
    std::promise<bool> ended;
    limiter->check({.facts = {{"user", "a"}}}, [&, limiter](Result<Decision>) mutable {
      Limiter* asked = limiter.get();
      asked->check({.facts = {{"user", "a"}}},
                   [&ended, limiter = std::move(limiter)](Result<Decision> second) mutable {
                     limiter.reset();
                     ended.set_value(second && second->allowed());
                   });
    });
    limiter.reset();
    EXPECT_TRUE(ended.get_future().get());
  }
}

TEST(Limiter, RefusesASynchronousCallOnTheThreadThatWouldAnswerIt) {
  const dripgate::testing::ScratchFolder folder;
  Limiter limiter =
      opened({.policies = {per_user(2)}, .store = *dripgate::Store::sqlite(folder.path("a.db"))});
  std::promise<ErrorCode> told;
  limiter.check({.facts = {{"user", "a"}}}, [&](Result<Decision>) {
    const auto inner = limiter.check({.facts = {{"user", "a"}}});
    told.set_value(inner ? ErrorCode::io : inner.error().code);
  });
  EXPECT_EQ(told.get_future().get(), ErrorCode::invalid_argument);
}

TEST(Limiter, AdmitsExactlyTheLimitOverManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  Limiter limiter = opened({.policies = {per_user(kThreads * kEach / 2)}});
  std::atomic<int> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) allowed += limiter.check({.facts = {{"user", "a"}}})->allowed() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed.load(), kThreads * kEach / 2);
}

TEST(Limiter, CountsOnInAFileThatWasOpenedAgainAndSharesItOnlyThroughItsStore) {
  const dripgate::testing::ScratchFolder folder;
  const std::string path = folder.path("counters.db");
  const Request request{.facts = {{"user", "a"}}};
  {
    Limiter limiter = opened({.policies = {per_user(2)}, .store = *dripgate::Store::sqlite(path)});
    EXPECT_TRUE(limiter.check(request)->allowed());
    EXPECT_EQ(dripgate::Store::sqlite(path).error().code, ErrorCode::locked);
    Limiter other = opened({.policies = {per_user(2)}, .store = limiter.store()});
    EXPECT_TRUE(other.check(request)->allowed());
  }
  Limiter limiter = opened({.policies = {per_user(2)}, .store = *dripgate::Store::sqlite(path)});
  EXPECT_FALSE(limiter.check(request)->allowed());
}

TEST(Limiter, TakesAChangedFileAndKeepsTheSetInForceWhenTheNextIsWrong) {
  const dripgate::testing::ScratchFolder folder;
  const std::string path = folder.path("gate.yaml");
  const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::trunc) << text; };
  write(kGate);
  std::vector<std::string> heard;
  Limiter limiter =
      opened({.config_file = path,
              .reload_every = std::chrono::seconds{0},
              .on_reload = [&](bool, const std::vector<std::string>& lines) { heard = lines; }});
  const std::string first = limiter.version();
  write(std::string(kGate) + "\n    shadow: true\n");
  ASSERT_TRUE(*limiter.reload());
  EXPECT_NE(limiter.version(), first);
  write("policies: [ { id: broken } ]");
  const auto refused = limiter.reload();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("gate.yaml:1:"), std::string::npos) << refused.error().detail;
  EXPECT_FALSE(heard.empty());
  EXPECT_TRUE(limiter.check(kFree)->allowed());
}

TEST(Limiter, DecidesByFailureModeWhileItsRedisIsAway) {
  // Nothing listens on port 1 of this machine.
  auto store = dripgate::Store::redis({.nodes = {"127.0.0.1:1"}});
  ASSERT_TRUE(store) << store.error().detail;
  Policy open = per_user(1);
  open.on_store_failure = FailureMode::open;
  Policy local = per_user(1);
  local.on_store_failure = FailureMode::local;
  const Request request{.facts = {{"user", "a"}}};

  const auto closed = opened({.policies = {per_user(1)}, .store = *store}).check(request);
  EXPECT_EQ(closed->status, 503);
  EXPECT_EQ(closed->degraded, FailureMode::closed);
  EXPECT_EQ(header(*closed, "RateLimit"), "absent");
  EXPECT_EQ(opened({.policies = {open}, .store = *store}).check(request)->degraded, FailureMode::open);
  Limiter sharing = opened({.policies = {local}, .store = *store});
  EXPECT_TRUE(sharing.check(request)->allowed());
  EXPECT_EQ(sharing.check(request)->status, 429);
}

TEST(Store, RefusesARedisThatIsNotSaidRightAndShowsNoPassword) {
  const auto refused = dripgate::Store::redis({.nodes = {"nowhere:port"}, .user = "u", .password = "s3cret"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().detail.find("s3cret"), std::string::npos);
  EXPECT_FALSE(dripgate::Store::redis({}));
}

TEST(Limiter, FindsTheClientBehindTrustedProxiesOnly) {
  Limiter limiter = opened({.config_text = kGate});
  EXPECT_EQ(limiter.client_address("127.0.0.1", {"203.0.113.7"}), "203.0.113.7");
  EXPECT_EQ(limiter.client_address("198.51.100.1", {"203.0.113.7"}), "198.51.100.1");
}

}  // namespace
