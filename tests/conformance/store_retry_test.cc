// A further delivery names the generation that is over; what the gate did to that generation in between must
// not hide it.
#include "conformance/booking_fixture.h"
#include "conformance/redis_backend.h"

namespace dripgate::testing {
namespace {

using Retries = BookingConformance;

TEST_P(Retries, AFiringInsideTheReleaseLeaseDoesNotHideTheGenerationThatIsOver) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(g("b", 0, 60'000), "GO");
  EXPECT_EQ(g("b", 0, 60'050),
            "REBOOK 120000");  // fired twice: waits for the lease with a generation of its own
  ASSERT_TRUE(done("b", 0));
  auto retry = request("b");
  retry.after_generation = 0;
  clock.set(ms(61'000));
  const auto again = try_reserve(retry);
  EXPECT_EQ(words(again), "NOW");
  EXPECT_EQ(again->slot, ms(61'000)) << "the second delivery is charged";
  const auto repeated = try_reserve(retry);
  EXPECT_EQ(words(repeated), "NOW");
  EXPECT_EQ(repeated->generation, again->generation);
  EXPECT_EQ(inspect().released.at(0), 2);
}

TEST_P(Retries, ADeadLetterOfTheGateKeepsItsReasonWhenTheLimitRisesAgain) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 2, 1000), "AT 60000");
  use({per(1, 60s)});
  EXPECT_EQ(g("b", 0, 60'000), "IMPOSSIBLE");
  use({per(2, 60s)});
  EXPECT_EQ(g("b", 0, 60'001), "IMPOSSIBLE");
}

INSTANTIATE_TEST_SUITE_P(Backends, Retries, ::testing::ValuesIn(all_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(OnCluster, Retries, ::testing::Values(redis_cluster_backend()), backend_name);

}  // namespace
}  // namespace dripgate::testing
