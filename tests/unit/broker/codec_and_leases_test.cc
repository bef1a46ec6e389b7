// The attributes' bytes, and what is out, lapsed or due again.
#include <random>

#include <gtest/gtest.h>

#include "broker/attributes_codec.h"
#include "broker/leases.h"

namespace dripgate::broker {
namespace {

TEST(AttributesCodec, GivesBackWhatItTook) {
  const Attributes cases[] = {
      {},
      {{"", ""}},
      {{"name", std::string("\0\x80\xff", 3)}, {"name2", std::string(200, 'v')}},
      {{"long", std::string(70'000, 'x')}, {std::string(300, 'n'), ""}},
  };
  for (const Attributes& attributes : cases) {
    std::string bytes = "left from before";
    encode_attributes(attributes, bytes);
    EXPECT_EQ(decode_attributes(bytes), attributes);
  }
}

TEST(AttributesCodec, RefusesWhatItDidNotWrite) {
  std::string bytes;
  encode_attributes({{"name", "value"}, {"other", "x"}}, bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_attributes(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_attributes(bytes + "x"));
  EXPECT_FALSE(decode_attributes(std::string(20, '\xff')));
  EXPECT_FALSE(decode_attributes("\xff\xff\xff\xff\x7f")) << "a count that nothing can hold";
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string hurt = bytes;
    hurt[random() % hurt.size()] = static_cast<char>(random());
    (void)decode_attributes(hurt);
  }
}

TEST(Leases, CountWhatIsOut) {
  Leases leases;
  leases.claim(1, 10);
  leases.claim(2, 5);
  leases.claim(2, 5);
  EXPECT_EQ(leases.claimed(), 2u);
  EXPECT_EQ(leases.claimed_bytes(), 15u);
  leases.settle(1);
  leases.settle(1);
  leases.settle(77);
  EXPECT_EQ(leases.claimed_bytes(), 5u);
  EXPECT_FALSE(leases.contains(1));
}

TEST(Leases, DelayEachConsecutiveLapseLongerUpToABound) {
  Leases leases;
  Duration delay{0};
  for (int i = 0; i < 100; ++i) {
    leases.claim(1, 10);
    EXPECT_EQ(leases.lapses(1), i);
    const auto next = leases.lapse(1);
    ASSERT_TRUE(next);
    EXPECT_EQ(*next, i == 0 ? kRedeliveryDelayMin : std::min(2 * delay, kRedeliveryDelayMax));
    delay = *next;
    EXPECT_TRUE(leases.contains(1));
    EXPECT_EQ(leases.claimed_bytes(), 0u);
    EXPECT_FALSE(leases.take_ready()) << "not yet";
    leases.ready(1);
    EXPECT_EQ(leases.take_ready(), 1);
    EXPECT_FALSE(leases.take_ready());
  }
  EXPECT_FALSE(leases.lapse(1)) << "it is not out";
}

TEST(Leases, ForgetALapseOnceSettled) {
  Leases leases;
  leases.claim(1, 10);
  (void)leases.lapse(1);
  leases.ready(1);
  leases.settle(1);
  EXPECT_FALSE(leases.take_ready());
  EXPECT_EQ(leases.lapsed(), 0u);
  leases.claim(1, 10);
  EXPECT_EQ(leases.lapses(1), 0);
}

}  // namespace
}  // namespace dripgate::broker
