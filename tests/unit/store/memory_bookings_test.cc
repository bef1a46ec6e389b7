// MemoryBookingStore: bounds, what goes first when it is full, threads; and its tables on their own.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "store/memory/booking_shard.h"
#include "store/memory/event_table.h"
#include "store/memory/expiry_buckets.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"

namespace dripgate::store {
namespace {

using core::ReserveOutcome;
using testing::kT0;
using testing::VirtualClock;

core::BookingPolicyPtr policy_of(core::Limit limit, Duration retention = 24h) {
  core::BookingPolicy policy;
  policy.limits = {std::move(limit)};
  policy.spread = core::Spread::start;
  policy.max_delay = 1h;
  policy.id_retention = retention;
  return std::make_shared<core::BookingPolicy>(policy);
}

core::Limit limit_of(core::Algorithm algorithm, core::Units limit, Duration window) {
  return {.algorithm = algorithm, .limit = limit, .window = window, .capacity = limit, .zone = nullptr};
}

Result<core::ReserveAnswer> reserve(BookingStore& store, const std::string& key, const std::string& id,
                                    const core::BookingPolicyPtr& policy) {
  Result<core::ReserveAnswer> got = fail(ErrorCode::timed_out, "done never ran");
  store.reserve({.key = key,
                 .event_id = id,
                 .body_digest = 0,
                 .cost = 1,
                 .first_received = {},
                 .after_generation = {},
                 .policy = policy},
                [&](auto answer) { got = std::move(answer); });
  return got;
}

TEST(MemoryBookings, AreBoundedAndNothingThatMattersIsForgotten) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 100);
  const auto policy = policy_of(limit_of(core::Algorithm::fixed_window, 10, 60s));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(reserve(*store, "k", std::to_string(i), policy)) << i;
  const auto refused = reserve(*store, "k", "one more", policy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::full);
  EXPECT_TRUE(refused.error().transient);
  // The refusal changed nothing, and what is known is still answered.
  for (int i = 10; i < 100; ++i) {
    const auto again = reserve(*store, "k", std::to_string(i), policy);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->outcome, ReserveOutcome::at);
    EXPECT_EQ(again->slot, kT0 + Duration{60s} * (i / 10));
  }
}

TEST(MemoryBookings, AFullStoreMakesRoomOfWhatIsOverAcrossAllShards) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 200);
  const auto policy = policy_of(limit_of(core::Algorithm::fixed_window, 10, 60s), 1h);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200; ++i) {
      const std::string name = std::to_string(round) + "-" + std::to_string(i);
      ASSERT_TRUE(reserve(*store, name, name, policy)) << name;
    }
    clock.advance(std::chrono::hours{100});
  }
}

TEST(MemoryBookings, AFullStoreGivesUpIdleKeysBeforeTheyExpire) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 50);
  const auto policy = policy_of(limit_of(core::Algorithm::fixed_window, 10, 60s), 1min);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(reserve(*store, "old" + std::to_string(i), "e", policy));
  // The records are over after a minute (and what they are rounded up to), the keys only after a day.
  clock.advance(30min);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(reserve(*store, "new" + std::to_string(i), "e", policy)) << i;
}

TEST(MemoryBookings, AFrozenKeyIsNotIdle) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 3);
  const auto policy = policy_of(limit_of(core::Algorithm::fixed_window, 10, 60s), 1min);
  for (const char* key : {"a", "b", "c"}) {
    store->freeze(key, kT0 + 24h, [](auto done) { EXPECT_TRUE(done); });
  }
  clock.advance(1h);
  store->freeze("d", kT0 + 24h, [](auto done) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::full);
  });
  const auto frozen = reserve(*store, "a", "e", policy);
  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->slot, kT0 + 24h);
}

TEST(MemoryBookings, ARefusedRequestLeavesNoNames) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 2);
  const auto nobody = policy_of(limit_of(core::Algorithm::fixed_window, 0, 60s));
  for (int i = 0; i < 100; ++i) {
    const auto answer = reserve(*store, std::to_string(i), std::to_string(i), nobody);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->outcome, ReserveOutcome::impossible);
  }
}

/// 8 threads with 200 clients each ask at once; whoever is told NOW counts.
int admitted_by_threads(core::Algorithm algorithm, core::Units limit) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock);
  const auto policy = policy_of(limit_of(algorithm, limit, 60s));
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int client = 0; client < 200; ++client) {
        const auto id = std::to_string(thread) + "/" + std::to_string(client);
        const auto answer = reserve(*store, "k", id, policy);
        if (answer && answer->outcome == ReserveOutcome::now) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return admitted;
}

TEST(MemoryBookings, ReleaseExactlyTheLimitToManyThreadsAtOnce) {
  EXPECT_EQ(admitted_by_threads(core::Algorithm::fixed_window, 137), 137);
  EXPECT_EQ(admitted_by_threads(core::Algorithm::sliding_log, 137), 137);
  EXPECT_EQ(admitted_by_threads(core::Algorithm::token_bucket, 137), 137);
}

TEST(MemoryBookings, ManyThreadsOnManyKeysEachKeepTheirLimit) {
  VirtualClock clock;
  const auto store = make_memory_booking_store(clock, 5000);
  const auto policy = policy_of(limit_of(core::Algorithm::fixed_window, 3, 60s));
  std::array<std::atomic<int>, 50> admitted{};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 1000; ++i) {
        const int key = i % 50;
        const auto answer =
            reserve(*store, std::to_string(key), std::to_string(thread) + "/" + std::to_string(i), policy);
        if (answer && answer->outcome == ReserveOutcome::now) ++admitted[key];
        if (i % 10 == 0)
          store->done(std::to_string(key), std::to_string(thread) + "/" + std::to_string(i), 0, [](auto) {});
        if (i % 25 == 0) store->inspect(std::to_string(key), policy, [](auto view) { EXPECT_TRUE(view); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : admitted) EXPECT_EQ(count, 3);
}

TEST(EventTable, FindsWhatAPlainMapFindsUnderChurn) {
  EventTable table;
  const std::string names[2] = {"a:key", "b:key"};
  KeySlot keys[2];
  for (int i = 0; i < 2; ++i) keys[i].name = &names[i];
  std::map<std::pair<int, std::string>, EventNode*> known;
  std::mt19937 random(7);
  for (int step = 0; step < 20000; ++step) {
    const int key = static_cast<int>(random() % 2);
    const std::string id = std::to_string(random() % 700);
    // Few different hashes, so that chains are long and wrap around the end of the index.
    const std::uint32_t hash = static_cast<std::uint32_t>(std::stoul(id) * 2 + key) % 97 * 0x01000193u;
    const auto at = known.find({key, id});
    EventNode* found = table.find(hash, key == 0 ? "a" : "b", id);
    ASSERT_EQ(found, at == known.end() ? nullptr : at->second);
    if (found == nullptr) {
      known[{key, id}] = &table.insert(hash, &keys[key], id);
    } else if (random() % 2 == 0) {
      table.erase(*found);
      known.erase(at);
    }
    ASSERT_EQ(table.size(), known.size());
  }
  for (const auto& [name, node] : known) EXPECT_EQ(node->id, name.second);
}

TEST(ExpiryBuckets, GiveWhatIsDueInOrderAndNothingEarlier) {
  struct Node {
    Node* next_expiring = nullptr;
  };
  std::vector<Node> nodes(5);
  ExpiryBuckets<Node> buckets;
  buckets.file(nodes[0], kT0 + 1h);
  buckets.file(nodes[1], kT0 + 1min);
  buckets.file(nodes[2], kT0 + 1h);
  buckets.file(nodes[3], kT0 + 1min);
  EXPECT_EQ(buckets.take_due(kT0 + 1min - Duration{1}), nullptr);
  EXPECT_EQ(buckets.take_due(kT0 + 10min), &nodes[1]);
  EXPECT_EQ(buckets.take_due(kT0 + 10min), &nodes[3]);
  EXPECT_EQ(buckets.take_due(kT0 + 10min), nullptr);
  EXPECT_EQ(buckets.take_earliest(), &nodes[0]);
  buckets.file(nodes[4], kT0 + 1h);
  EXPECT_EQ(buckets.take_due(kT0 + 1h), &nodes[2]);
  EXPECT_EQ(buckets.take_due(kT0 + 1h), &nodes[4]);
  EXPECT_EQ(buckets.take_earliest(), nullptr);
  buckets.file(nodes[0], kT0);
  EXPECT_EQ(buckets.take_due(kT0), &nodes[0]);
}

}  // namespace
}  // namespace dripgate::store
