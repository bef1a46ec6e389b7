// Property-based tests of the stores: random histories against a plain model. The one file with rapidcheck.
// The histories are the same in every run; RC_PARAMS="max_success=1000" makes others.
#include <cstdlib>

#include <rapidcheck.h>

#include "conformance/booking_history.h"
#include "conformance/counter_history.h"
#include "conformance/redis_backend.h"

namespace rc {

template <>
struct Arbitrary<dripgate::testing::HistoryStep> {
  static Gen<dripgate::testing::HistoryStep> arbitrary() {
    using Step = dripgate::testing::HistoryStep;
    using History = dripgate::testing::CounterHistory;
    return gen::build<Step>(gen::set(&Step::kind, gen::inRange(0, History::kKinds)),
                            gen::set(&Step::key, gen::inRange(0, History::kKeys)),
                            gen::set(&Step::a, gen::inRange(0, History::kNumbers)),
                            gen::set(&Step::b, gen::inRange(0, History::kNumbers)));
  }
};

}  // namespace rc

namespace dripgate::testing {

std::ostream& operator<<(std::ostream& out, const HistoryStep& step) {
  return out << "{" << step.kind << "," << step.key << "," << step.a << "," << step.b << "}";
}

namespace {

[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261130 max_success=1000", 0);
constexpr int kHistorySize = 150;  // steps of the longest
constexpr int kReachedMin = 15;

class CounterModelTest : public ::testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, CounterModelTest, ::testing::ValuesIn(quick_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(Cluster, CounterModelTest, ::testing::Values(redis_cluster_backend()), backend_name);

TEST_P(CounterModelTest, AnyHistoryGivesTheAnswersOfThePlainModel) {
  Reached reached;
  HistoryWorld world(GetParam());
  const bool holds = rc::check("the store answers as the model", [&] {
    const auto steps = *rc::gen::resize(kHistorySize, rc::gen::arbitrary<std::vector<HistoryStep>>());
    CounterHistory history(world, reached);
    const std::string wrong = history.run(steps);
    if (!wrong.empty()) RC_FAIL(wrong);
  });
  ASSERT_TRUE(holds);
  EXPECT_GT(reached.allowed, kReachedMin);
  EXPECT_GT(reached.denied, kReachedMin);
  EXPECT_GT(reached.impossible, kReachedMin);
  EXPECT_GT(reached.partly_denied, kReachedMin);
  EXPECT_GT(reached.window_edges, kReachedMin);
  EXPECT_GT(reached.costs_above_one, kReachedMin);
  EXPECT_GT(reached.limit_changes, kReachedMin);
  EXPECT_GT(reached.equal_timestamps, kReachedMin);
  EXPECT_GT(reached.expired, kReachedMin);
  EXPECT_GT(reached.refunds_given, kReachedMin);
  EXPECT_GT(reached.refunds_refused, kReachedMin);
  EXPECT_GT(reached.refunds_repeated, kReachedMin);
  EXPECT_GT(reached.steps_bridged, kReachedMin);
  EXPECT_GT(reached.steps_failed, kReachedMin);
  EXPECT_GT(reached.promises_kept, kReachedMin);
  EXPECT_GT(reached.promises_one_short, kReachedMin);
}

class BookingDifferentialTest : public ::testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, BookingDifferentialTest, ::testing::ValuesIn(quick_backends()),
                         backend_name);
INSTANTIATE_TEST_SUITE_P(OnCluster, BookingDifferentialTest, ::testing::Values(redis_cluster_backend()),
                         backend_name);

TEST_P(BookingDifferentialTest, AnyHistoryGivesTheAnswersOfTheMemoryStoreAndExceedsNothing) {
  BookingReached reached;
  BookingWorld world(GetParam(), quick_backends().front());
  const bool holds = rc::check("both stores answer alike, and no rule is broken", [&] {
    const auto steps = *rc::gen::resize(kHistorySize, rc::gen::arbitrary<std::vector<HistoryStep>>());
    BookingHistory history(world, reached);
    const std::string wrong = history.run(steps);
    if (!wrong.empty()) RC_FAIL(wrong);
  });
  ASSERT_TRUE(holds);
  EXPECT_GT(reached.released, kReachedMin);
  EXPECT_GT(reached.booked, kReachedMin);
  EXPECT_GT(reached.rebooked, kReachedMin);
  EXPECT_GT(reached.beyond, kReachedMin);
  EXPECT_GT(reached.impossible, kReachedMin);
  EXPECT_GT(reached.duplicates, kReachedMin);
  EXPECT_GT(reached.conflicts, kReachedMin);
  EXPECT_GT(reached.given_back, kReachedMin);
  EXPECT_GT(reached.leases, kReachedMin);
  EXPECT_GT(reached.replays, kReachedMin);
  EXPECT_GT(reached.frozen, kReachedMin);
  EXPECT_GT(reached.limit_changes, kReachedMin);
  EXPECT_GT(reached.resets, kReachedMin);
  EXPECT_GT(reached.steps_bridged, kReachedMin);
  EXPECT_GT(reached.costs_above_one, kReachedMin);
  EXPECT_GT(reached.late, kReachedMin);
}

}  // namespace
}  // namespace dripgate::testing
