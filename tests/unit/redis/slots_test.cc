// Slots and the slot map.
#include <array>

#include <gtest/gtest.h>

#include "redis/slot_map.h"

namespace dripgate::redis {
namespace {

Reply number(std::int64_t n) {
  return Reply{n};
}
Reply text(std::string s) {
  return Reply{std::move(s)};
}
Reply list(std::vector<Reply> items) {
  return Reply{std::move(items)};
}
Reply range(std::int64_t first, std::int64_t last, const std::string& host, std::int64_t port) {
  return list({number(first), number(last), list({text(host), number(port), text("id")})});
}

TEST(RedisSlots, AKeysSlotIsTheOneThatRedisComputes) {
  EXPECT_EQ(slot_of("123456789"), 12739);  // 0x31C3, the check value of CRC-16/XMODEM, below 16384
  EXPECT_EQ(slot_of(""), 0);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("rl:{foo}:policy:k"), slot_of("foo"));
}

TEST(RedisSlots, OnlyTheFirstWholeNonEmptyTagCounts) {
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
  EXPECT_NE(slot_of("foo{bar"), slot_of("bar"));
}

TEST(RedisSlots, AMapKnowsOwnersInTheOrderOfTheirNames) {
  const auto map = SlotMap::parse(
      list({range(100, 16383, "h2", 7), range(0, 9, "h2", 7), range(10, 98, "h1", 9)}), "asked");
  ASSERT_TRUE(map) << map.error().detail;
  EXPECT_EQ(map->primaries(), (std::vector<Endpoint>{{"h1", 9}, {"h2", 7}}));
  EXPECT_EQ(map->owner(0), 1u);
  EXPECT_EQ(map->owner(98), 0u);
  EXPECT_EQ(map->owner(99), std::nullopt);
  EXPECT_EQ(map->owner(16383), 1u);
}

TEST(RedisSlots, ANodeWithoutANameIsTheOneThatWasAsked) {
  const auto map = SlotMap::parse(list({range(0, 16383, "", 7)}), "asked");
  EXPECT_EQ(map.value().primaries(), (std::vector<Endpoint>{{"asked", 7}}));
}

TEST(RedisSlots, AMovedSlotChangesItsOwnerAndNoOther) {
  auto map = SlotMap::parse(list({range(0, 99, "b", 1), range(100, 16383, "d", 1)}), "asked").value();
  map.assign(5, {"d", 1});
  EXPECT_EQ(map.owner(5), 1u);
  EXPECT_EQ(map.owner(6), 0u);
  map.assign(7, {"a", 1});  // before the others in the order
  EXPECT_EQ(map.primaries()[map.owner(7).value()], (Endpoint{"a", 1}));
  EXPECT_EQ(map.primaries()[map.owner(6).value()], (Endpoint{"b", 1}));
  EXPECT_EQ(map.primaries()[map.owner(5).value()], (Endpoint{"d", 1}));
  EXPECT_EQ(map.primaries().size(), 3u);
}

TEST(RedisSlots, WhoTakesAPrimarysPlaceHasItsNumberAndTheOthersKeepTheirs) {
  const auto at = [](const Endpoint& first) {
    return SlotMap::parse(list({range(0, 99, first.host, first.port), range(100, 199, "d", 1),
                                range(200, 16383, "f", 1)}),
                          "asked")
        .value();
  };
  const SlotMap before = at({"b", 1});
  constexpr std::array<std::uint16_t, 3> some{0, 150, 300};
  for (const char* host : {"a", "c", "e", "z"}) {  // wherever it comes in the order of names
    SlotMap told = before;
    told.assign(50, {host, 1});
    EXPECT_EQ(told.shard(50), before.shard(50)) << host;
    for (const SlotMap* known : {&before, static_cast<const SlotMap*>(&told)}) {
      SlotMap after = at({host, 1});
      after.keep_numbers(*known);
      for (const std::uint16_t slot : some) EXPECT_EQ(after.shard(slot), before.shard(slot)) << host;
      EXPECT_EQ(after.primaries()[after.primary_of(before.shard(0)).value()], (Endpoint{host, 1}));
    }
  }
  // A fourth one beside them has a number of its own, and one that goes leaves small numbers.
  SlotMap more = SlotMap::parse(list({range(0, 49, "b", 1), range(50, 99, "a", 1), range(100, 199, "d", 1),
                                      range(200, 16383, "f", 1)}),
                                "asked")
                     .value();
  more.keep_numbers(before);
  for (const std::uint16_t slot : some) EXPECT_EQ(more.shard(slot), before.shard(slot));
  EXPECT_EQ(more.shard(50), 3u);
  SlotMap fewer = SlotMap::parse(list({range(0, 16383, "f", 1)}), "asked").value();
  fewer.keep_numbers(more);
  EXPECT_EQ(fewer.shard(0), 0u);
}

TEST(RedisSlots, RepliesOfAnotherShapeAreRefused) {
  const Reply wrong[] = {text("OK"),
                         list({text("x")}),
                         list({list({number(0), number(1)})}),
                         list({range(-1, 5, "h", 1)}),
                         list({range(0, 16384, "h", 1)}),
                         list({range(9, 5, "h", 1)}),
                         list({range(0, 5, "h", 70000)})};
  for (const Reply& reply : wrong) EXPECT_EQ(SlotMap::parse(reply, "a").error().code, ErrorCode::corrupt);
  EXPECT_EQ(SlotMap::parse(list({}), "a").error().code, ErrorCode::unavailable);
  EXPECT_TRUE(SlotMap{}.empty());
}

}  // namespace
}  // namespace dripgate::redis
