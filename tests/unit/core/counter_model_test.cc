// The three algorithms against plain rational models over random histories: every number of every answer. The
// generator is shown to reach what matters. A failure prints its seed.
#include <random>

#include <gtest/gtest.h>

#include "core/fixed_window.h"
#include "unit/core/counter_models.h"
#include "unit/core/counter_support.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

struct Reached {
  int edges = 0, large_costs = 0, changes = 0, steps_back = 0, refunds = 0, equal_times = 0;
  int exact_waits = 0, one_short = 0, impossible = 0, zero_costs = 0, peeks = 0, denials = 0;
};

/// One random history of one key, state and model side by side.
class History {
 public:
  History(Algorithm algorithm, std::uint64_t seed, Reached& reached)
      : algorithm_(algorithm), random_(seed), reached_(reached) {
    if (algorithm == Algorithm::token_bucket) model_ = std::make_unique<BucketModel>();
    if (algorithm == Algorithm::sliding_log) model_ = std::make_unique<LogModel>();
    if (algorithm == Algorithm::fixed_window) model_ = std::make_unique<WindowModel>();
    counter_.limit = any_limit();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      move_time();
      if (one_in(15)) change_limit();
      if (one_in(8) && !taken_.empty()) {
        refund_one();
      } else {
        call(any_cost(), one_in(6));
      }
      const auto copy = decode_counter(encode(counter_.state));
      ASSERT_TRUE(copy) << copy.error().detail;
      ASSERT_EQ(encode(*copy), encode(counter_.state));
    }
  }

 private:
  bool one_in(std::uint64_t n) { return random_() % n == 0; }
  std::int64_t any(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  Limit any_limit() {
    constexpr Duration kWindows[] = {1s, 90s, 60s, 7ms, 1us};
    const Units n = one_in(12) ? 0 : any(1, 12);
    const Duration window = kWindows[random_() % std::size(kWindows)];
    if (algorithm_ == Algorithm::token_bucket) return tb(one_in(15) ? 0 : any(1, 15), n, window);
    return algorithm_ == Algorithm::sliding_log ? sl(n, window) : fw(n, window);
  }
  void change_limit() {
    const Limit before = counter_.limit;
    counter_.limit = any_limit();
    if (one_in(2)) counter_.limit.window = before.window;
    wait_.reset();
    ++reached_.changes;
  }
  Units any_cost() {
    const Units largest = counter_.limit.max_cost();
    return one_in(3) ? any(0, largest + 2) : 1;
  }

  void move_time() {
    const Duration window = counter_.limit.window;
    const auto edge = window_end(fw(1, window), now_);
    switch (random_() % 8) {
      case 0:
        ++reached_.equal_times;
        break;
      case 1:
        now_ += Duration{any(0, window.count() / 3)};
        break;
      case 2:
        now_ += Duration{any(1, 1000)};
        break;
      case 3:
        ++reached_.edges;
        now_ = edge + Duration{any(-1, 1)};
        break;
      case 4:
        if (one_in(3)) now_ += window * any(1, 4);
        break;
      case 5:
        if (!one_in(3)) break;
        ++reached_.steps_back;
        now_ -= Duration{any(1, 5'000'000)};
        break;
      default:
        try_the_promise();
    }
  }

  /// Waiting one microsecond less is a denial, waiting exactly that long is not.
  void try_the_promise() {
    if (!wait_) return;
    now_ = *wait_ - 1us;
    ++reached_.one_short;
    ASSERT_NE(counter_.look(now_, wait_cost_).verdict, Verdict::allow);
    now_ = *wait_;
    ++reached_.exact_waits;
    ASSERT_EQ(counter_.look(now_, wait_cost_).verdict, Verdict::allow);
    wait_.reset();
  }

  void call(Units cost, bool peeks) {
    const Expected want = model_->call(counter_.limit, cost, now_, !peeks);
    const LimitOutcome got = peeks ? counter_.look(now_, cost) : counter_.call(now_, cost);
    ASSERT_EQ(got.verdict, want.verdict);
    ASSERT_EQ(got.remaining, want.remaining);
    ASSERT_EQ(got.reset_after, want.reset_after);
    ASSERT_EQ(got.retry_after, want.retry_after);
    ASSERT_GE(got.remaining, 0);
    ASSERT_LE(got.remaining, counter_.limit.max_cost());
    if (got.retry_after) ASSERT_GT(*got.retry_after, 0us);
    reached_.large_costs += cost > 1;
    reached_.zero_costs += cost == 0;
    reached_.peeks += peeks;
    reached_.denials += got.verdict == Verdict::deny;
    reached_.impossible += got.verdict == Verdict::impossible;
    if (peeks) return;
    wait_.reset();
    if (got.retry_after) wait_ = now_ + *got.retry_after, wait_cost_ = cost;
    if (got.verdict == Verdict::allow && cost > 0) taken_.push_back({counter_.limit, cost, now_});
  }

  void refund_one() {
    const std::size_t which = one_in(2) ? taken_.size() - 1 : random_() % taken_.size();
    const Taken taken = taken_[which];
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool want = model_->refund(taken.limit, taken.cost, taken.at, now_);
    ASSERT_EQ(refund(counter_.state, taken.limit, taken.cost, taken.at, now_), want);
    if (now_ >= refundable_until(taken.limit, taken.cost, taken.at)) ASSERT_FALSE(want);
    reached_.refunds += want;
    wait_.reset();
  }

  struct Taken {
    Limit limit;
    Units cost;
    WallTime at;
  };
  Algorithm algorithm_;
  std::mt19937_64 random_;
  Reached& reached_;
  std::unique_ptr<Model> model_;
  Counter counter_;
  WallTime now_ = testing::kT0;
  std::optional<WallTime> wait_;
  Units wait_cost_ = 1;
  std::vector<Taken> taken_;
};

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Counters, EveryAlgorithm,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::sliding_log,
                                           Algorithm::token_bucket));

TEST_P(EveryAlgorithm, AnswersAsTheRationalModelOverRandomHistories) {
  Reached reached;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(GetParam(), seed, reached).run(120);
    if (HasFailure()) return;
  }
  for (const int count : {reached.edges, reached.large_costs, reached.changes, reached.steps_back,
                          reached.refunds, reached.equal_times, reached.exact_waits, reached.one_short,
                          reached.impossible, reached.zero_costs, reached.peeks, reached.denials})
    EXPECT_GT(count, 1000);
}

TEST_P(EveryAlgorithm, AfterARefundNeverMoreIsAdmittedThanHadTheCallNeverBeen) {
  int refunded = 0, later = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    const Units n = 1 + static_cast<Units>(random() % 10);
    Limit limit = GetParam() == Algorithm::token_bucket  ? tb(1 + static_cast<Units>(random() % 12), n, 60s)
                  : GetParam() == Algorithm::sliding_log ? sl(n, 60s)
                                                         : fw(n, 60s);
    Counter with{limit}, without{limit};
    WallTime now = testing::kT0 + Duration{static_cast<std::int64_t>(random() % 60'000'000)};
    std::optional<std::pair<WallTime, Units>> victim;
    bool given = false;
    for (int i = 0; i < 40; ++i) {
      now += Duration{static_cast<std::int64_t>(random() % 9'000'000)};
      const Units cost = 1 + static_cast<Units>(random() % 3);
      if (i > 20 && victim && !given) {
        given = true;
        refunded += refund(with.state, limit, victim->second, victim->first, now);
      }
      if (with.call(now, cost).verdict != Verdict::allow) continue;
      if (i > 12 && !victim) {
        victim = {now, cost};
        continue;
      }
      ASSERT_EQ(without.call(now, cost).verdict, Verdict::allow) << "seed " << seed << " step " << i;
      later += given;
    }
  }
  EXPECT_GT(refunded, 500);
  EXPECT_GT(later, 5000);
}

TEST(Check, OverSeveralLimitsARefusalChangesNothingAndTheLongestWaitSuffices) {
  int denied = 0, allowed = 0, same_key = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Counter> counters;
    for (std::size_t i = 0; i <= random() % 4; ++i) {
      const Units n = 1 + static_cast<Units>(random() % 8);
      const Duration window = std::array<Duration, 3>{1s, 7s, 60s}[random() % 3];
      counters.push_back({random() % 3 == 0   ? tb(n, n, window)
                          : random() % 2 == 0 ? sl(n, window)
                                              : fw(n, window)});
    }
    WallTime now = testing::kT0;
    for (int step = 0; step < 30; ++step) {
      now += Duration{static_cast<std::int64_t>(random() % 2'000'000)};
      std::vector<CheckItem> items;
      for (Counter& counter : counters)
        items.push_back({&counter.state, &counter.limit, static_cast<Units>(random() % 3)});
      if (random() % 4 == 0) items.push_back(items.front()), ++same_key;
      std::vector<std::string> before;
      for (const Counter& counter : counters) before.push_back(encode(counter.state));
      const Decision looked = peek(items, now);
      const Decision decision = consume(items, now);
      ASSERT_EQ(decision.verdict, looked.verdict);
      ASSERT_EQ(decision.decisive, looked.decisive);
      if (decision.verdict == Verdict::allow) {
        ++allowed;
        continue;
      }
      for (std::size_t i = 0; i < counters.size(); ++i)
        ASSERT_EQ(encode(counters[i].state), before[i]) << "seed " << seed;
      if (decision.verdict != Verdict::deny) continue;
      ++denied;
      const WallTime then = now + decision.outcomes[decision.decisive].retry_after.value();
      ASSERT_EQ(peek(items, then).verdict, Verdict::allow) << "seed " << seed;
      ASSERT_EQ(peek(items, then - 1us).verdict, Verdict::deny) << "seed " << seed;
    }
  }
  EXPECT_GT(denied, 10000);
  EXPECT_GT(allowed, 10000);
  EXPECT_GT(same_key, 1000);
}

TEST(Counter, PackedStatesAnswerAsUnpackedOnesAlsoFarOutsideTheUsualNumbers) {
  std::mt19937_64 random(9);
  const auto number = [&random](int bits) {
    return static_cast<std::int64_t>(random() >> (64 - 1 - random() % static_cast<unsigned>(bits)));
  };
  int allowed = 0, large = 0;
  for (int i = 0; i < 300'000; ++i) {
    const Limit limit = i % 2 == 0 ? tb(number(48), number(48), Duration{1 + number(45)})
                                   : fw(number(48), Duration{1 + number(45)});
    CounterState state;
    state.exists = true;
    state.written = written_under(limit);
    state.time = testing::kT0 + Duration{number(50)} - Duration{number(50)};
    if (i % 2 == 1) state.time = window_start(limit, state.time);
    state.value = limit.limit == 0 ? number(10) : number(48) % limit.limit;
    const Units cost = number(40);
    const WallTime now = testing::kT0 + Duration{number(50)};
    const Step step = evaluate(state, limit, cost, now);
    LimitOutcome outcome;
    const PackedState packed = evaluate_packed({state.time, state.value}, limit, cost, now, outcome);
    ASSERT_EQ(outcome.verdict, step.outcome.verdict) << i;
    ASSERT_EQ(outcome.remaining, step.outcome.remaining) << i;
    ASSERT_EQ(outcome.reset_after, step.outcome.reset_after) << i;
    ASSERT_EQ(outcome.retry_after, step.outcome.retry_after) << i;
    ASSERT_EQ(packed.time, step.time) << i;
    ASSERT_EQ(packed.value, step.value) << i;
    allowed += outcome.verdict == Verdict::allow;
    large += __int128{limit.capacity} * limit.window.count() > (__int128{1} << 60);
  }
  EXPECT_GT(allowed, 10000);
  EXPECT_GT(large, 10000);
}

TEST(CounterCodec, RefusesWhatItDidNotWrite) {
  Counter counter{sl(5, 60s)};
  EXPECT_EQ(encode(counter.state), "");
  EXPECT_EQ(counter.passed(2, plus(0)), 2);
  EXPECT_EQ(counter.passed(2, plus(1)), 2);
  const std::string bytes = encode(counter.state);
  EXPECT_EQ(bytes.front(), '1');
  EXPECT_EQ(decode_counter(bytes)->log.total(), 4);
  std::string newer = bytes;
  newer[0] = '2';
  EXPECT_EQ(decode_counter(newer).error().code, ErrorCode::newer_version);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto cut = decode_counter(bytes.substr(0, size));
    if (!cut) EXPECT_EQ(cut.error().code, ErrorCode::corrupt);
  }
  std::mt19937_64 random(4);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {  // never crashes, and what it takes it can write
    std::string spoilt = bytes;
    for (int j = 0; j < 3; ++j) spoilt[random() % spoilt.size()] = static_cast<char>(random());
    const auto read = decode_counter(spoilt);
    refused += !read;
    if (read) EXPECT_EQ(encode(*read), spoilt);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace dripgate::core
