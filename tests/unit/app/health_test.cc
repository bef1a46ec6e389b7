// What /readyz says.
#include "app/health.h"

#include <gtest/gtest.h>

namespace dripgate::app {
namespace {

TEST(Health, KeepsOneSentencePerCauseUntilItIsCleared) {
  Health health;
  EXPECT_TRUE(health.reasons().empty());
  health.raise("store", "first");
  health.raise("store", "second");
  health.raise("disk", "full");
  EXPECT_EQ(health.reasons(), (std::vector<std::string>{"disk: full", "store: second"}));
  health.clear("store");
  health.clear("store");
  EXPECT_EQ(health.reasons(), (std::vector<std::string>{"disk: full"}));
}

}  // namespace
}  // namespace dripgate::app
