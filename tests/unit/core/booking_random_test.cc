// Seeded random histories over every kind of trouble (booking_world.h). A failure names its seed.
#include <gtest/gtest.h>

#include "unit/core/booking_world.h"

namespace dripgate::testing {
namespace {

constexpr std::uint64_t kSeedsPerTrouble = 150;

class BookingHistories : public ::testing::TestWithParam<int> {};

TEST_P(BookingHistories, HoldEveryInvariant) {
  const auto trouble = static_cast<Trouble>(GetParam());
  int releases = 0;
  int moves = 0;
  for (std::uint64_t seed = 0; seed < kSeedsPerTrouble; ++seed) {
    const WorldReport report = run_random_history(seed, trouble);
    ASSERT_EQ(report.failure, "") << "seed " << seed << " trouble " << GetParam();
    releases += report.releases;
    moves += report.moves;
  }
  EXPECT_GT(releases, 1000) << "the histories must do something";
  if (trouble != Trouble::clean) {
    EXPECT_GT(moves, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTrouble, BookingHistories, ::testing::Range(0, kTroubles));

}  // namespace
}  // namespace dripgate::testing
