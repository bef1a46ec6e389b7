// What only the broker on Redis does: several processes, partitions, a Redis that lost its data, trimming,
// round trips, memory.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "broker/redis_streams/claim_store.h"
#include "broker/redis_streams/durability_check.h"
#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/lane.h"
#include "broker/redis_streams/stream_timer.h"
#include "broker_redis_world.h"

namespace dripgate::testing {
namespace {

namespace rs = broker::redis_streams;

class RedisBroker : public ::testing::Test {
 protected:
  /// One more process, its source delivering into `got` by name.
  struct Process {
    std::unique_ptr<rs::Broker> broker;
    std::unique_ptr<broker::EventSource> source;
    std::unique_ptr<broker::Timer> timer;
    std::vector<broker::Delivery> got;
    std::vector<broker::FiredEntry> fired;
  };

  std::unique_ptr<Process> process(const std::string& name) {
    auto made = std::make_unique<Process>();
    made->broker = world_->process(name);
    made->source = made->broker->source("payouts");
    made->timer = made->broker->timer("payouts");
    return made;
  }
  static void pull(Process& of, std::size_t most = 1000) {
    of.source->start({.max_outstanding_messages = most},
                     [&of](broker::Delivery delivery) { of.got.push_back(std::move(delivery)); });
  }
  void publish(int from, int to) {
    const auto publisher = world_->publisher("payouts");
    int done = 0;
    for (int i = from; i < to; ++i) {
      publisher->publish(message("m" + std::to_string(i), "body"),
                         [&](Result<void> result) { done += result.has_value() ? 1 : 0; });
    }
    world_->run_ready();
    ASSERT_EQ(done, to - from);
  }
  void ack(Process& by, std::uint64_t token) {
    bool done = false;
    by.source->ack(token, [&](Result<void> acked) { done = acked.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  std::string ask(const std::vector<std::string>& words) { return world_->server().ask(words); }
  void with_partitions(std::size_t count) {
    world_ = std::make_unique<RedisWorld>(rs::Options{.partitions = count});
  }

  const std::string stream_ = rs::stream_key("", rs::partition_tag("payouts", 0));
  std::unique_ptr<RedisWorld> world_ = std::make_unique<RedisWorld>();
};

TEST_F(RedisBroker, EntriesOfADeadProcessComeToAnotherOnceTheyWereIdle) {
  publish(0, 5);
  auto dead = process("dead");
  auto alive = process("alive");
  pull(*dead);
  world_->run_ready();
  ASSERT_EQ(dead->got.size(), 5u);
  ack(*dead, dead->got[2].token);
  dead->source.reset();
  pull(*alive);
  world_->run_for(rs::kClaimIdle - 1s);
  EXPECT_TRUE(alive->got.empty()) << "at once";
  world_->run_for(rs::kLeaseKeepInterval + 2s);
  ASSERT_EQ(alive->got.size(), 4u);
  for (const broker::Delivery& delivery : alive->got) {
    EXPECT_EQ(delivery.redeliveries, 1);
    ack(*alive, delivery.token);
  }
  EXPECT_EQ(ask({"XLEN", stream_}), "0");
}

TEST_F(RedisBroker, ALeaseIsKeptUntilTheHandlingDeadlineAndThenLetGo) {
  constexpr Duration kDeadline = 2min;
  world_ = std::make_unique<RedisWorld>(rs::Options{.handling_deadline = kDeadline});
  publish(0, 1);
  auto slow = process("slow");
  auto other = process("other");
  pull(*slow);
  world_->run_ready();
  pull(*other);
  world_->run_for(kDeadline - 10s);
  EXPECT_TRUE(other->got.empty());
  EXPECT_EQ(slow->got.size(), 1u);
  world_->run_for(1min);
  const std::size_t again = other->got.size() + slow->got.size() - 1;
  EXPECT_EQ(again, 1u);
  ack(*slow, slow->got[0].token);  // late, and still good
  EXPECT_EQ(ask({"XLEN", stream_}), "0");
}

TEST_F(RedisBroker, AckedEntriesAreTrimmedAndUnackedOnesStay) {
  publish(0, 300);
  auto one = process("one");
  pull(*one);
  world_->run_ready();
  ASSERT_EQ(one->got.size(), 300u);
  for (std::size_t i = 0; i < one->got.size(); ++i) {
    if (i != 7 && i != 250) one->source->ack(one->got[i].token, [](Result<void> done) { ASSERT_TRUE(done); });
  }
  world_->run_ready();
  EXPECT_EQ(ask({"XLEN", stream_}), "2");
  EXPECT_TRUE(ask({"XPENDING", stream_, "dripgate"}).starts_with("2\n"));
}

TEST_F(RedisBroker, AFlushedRedisGetsItsGroupBackAndReadingGoesOn) {
  publish(0, 2);
  auto one = process("one");
  pull(*one);
  world_->run_ready();
  ASSERT_EQ(one->got.size(), 2u);
  EXPECT_EQ(ask({"FLUSHALL"}), "OK");
  world_->run_for(1s);
  publish(2, 4);
  world_->run_for(1s);
  ASSERT_EQ(one->got.size(), 4u);
  for (const broker::Delivery& delivery : one->got) ack(*one, delivery.token);
  EXPECT_EQ(ask({"XLEN", stream_}), "0");
}

TEST_F(RedisBroker, AnIdIsKnownAfterItsMessageIsGone) {
  publish(0, 1);
  auto one = process("one");
  pull(*one);
  world_->run_ready();
  ack(*one, one->got[0].token);
  publish(0, 1);
  world_->run_for(1s);
  EXPECT_EQ(one->got.size(), 1u);
  world_->run_for(rs::Options{}.message_id_ttl);
  publish(0, 1);
  world_->run_for(1s);
  EXPECT_EQ(one->got.size(), 2u);
}

TEST_F(RedisBroker, TheSameIdTwiceInOneBatchIsOneMessage) {
  const auto publisher = world_->publisher("payouts");
  int done = 0;
  for (const char* id : {"a", "b", "a"})
    publisher->publish(message(id), [&](Result<void> result) { done += result.has_value() ? 1 : 0; });
  world_->run_ready();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(ask({"XLEN", stream_}), "2");
}

TEST_F(RedisBroker, PartitionsShareTheMessagesAndEachComesOnce) {
  with_partitions(4);
  auto one = process("one");
  auto two = process("two");
  pull(*one, 50);
  pull(*two, 50);
  publish(0, 400);
  for (int round = 0; round < 20; ++round) {
    for (Process* of : {one.get(), two.get()}) {
      for (const broker::Delivery& delivery : std::vector(of->got))
        of->source->ack(delivery.token, [](Result<void>) {});
    }
    world_->run_for(100ms);
  }
  std::map<std::string, int> seen;
  for (const Process* of : {one.get(), two.get()}) {
    EXPECT_FALSE(of->got.empty());
    for (const broker::Delivery& delivery : of->got) ++seen[delivery.message.id];
  }
  EXPECT_EQ(seen.size(), 400u);
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& id) { return id.second == 1; }));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(ask({"XINFO", "STREAM", rs::stream_key("", rs::partition_tag("payouts", i))}).substr(0, 9),
              "length\n0\n");
}

TEST_F(RedisBroker, PublishesThatQueueGoOutTogether) {
  const std::size_t before = world_->client().calls();
  publish(0, 1000);
  EXPECT_LE(world_->client().calls() - before, 1000 / rs::kBatchCalls + 2);
}

TEST_F(RedisBroker, TwoProcessesFireEachEntryOnceAndAnotherAfterALease) {
  auto one = process("one");
  auto two = process("two");
  for (int i = 0; i < 200; ++i)
    one->timer->schedule({"t" + std::to_string(i), kT0 + 1s, message("m")},
                         [](Result<void> done) { ASSERT_TRUE(done); });
  for (Process* of : {one.get(), two.get()})
    of->timer->start([of](broker::FiredEntry entry) { of->fired.push_back(std::move(entry)); });
  world_->run_for(10s);
  EXPECT_EQ(one->fired.size() + two->fired.size(), 200u);
  std::set<std::string> ids;
  for (const Process* of : {one.get(), two.get()})
    for (const broker::FiredEntry& entry : of->fired) ids.insert(entry.entry.id);
  EXPECT_EQ(ids.size(), 200u);
  world_->run_for(3min);
  EXPECT_EQ(one->fired.size() + two->fired.size(), 200u) << "while both live";
  one->timer.reset();  // with what it has
  for (const broker::FiredEntry& entry : two->fired)
    two->timer->settle(entry.token, [](Result<void> done) { ASSERT_TRUE(done); });
  const std::size_t of_two = two->fired.size();
  world_->run_for(rs::kFiringLease - rs::kFiringKeepInterval - 1s);
  EXPECT_EQ(two->fired.size(), of_two);
  world_->run_for(rs::kFiringKeepInterval + 2s);
  EXPECT_EQ(two->fired.size(), 200u);
}

TEST_F(RedisBroker, ATimerEntryTakesLittleBesideItsPayload) {
  constexpr int kEntries = 20'000;
  // Measured: 368 to 374, for three copies of a 35-byte id, two dictionary entries and a skip list node.
  constexpr double kBytesPerEntryMax = 400;
  const auto used = [this] {
    const std::string memory = ask({"INFO", "memory"});
    return std::stod(memory.substr(memory.find("used_memory:") + 12));
  };
  const auto timer = world_->timer("payouts");
  const std::string body(200, 'x');
  const double before = used();
  int done = 0;
  for (int i = 0; i < kEntries; ++i) {
    std::string id = "0123456789abcdef0123456789" + std::to_string(100'000 + i) + "-g1";
    timer->schedule({id, kT0 + 1h + Duration{i * 997}, message(id, body)},
                    [&](Result<void> result) { done += result.has_value() ? 1 : 0; });
  }
  world_->run_ready();
  ASSERT_EQ(done, kEntries);
  const double per_entry = (used() - before) / kEntries - static_cast<double>(body.size());
  RecordProperty("bytes_per_entry", static_cast<int>(per_entry));
  std::printf("%.0f bytes per timer entry beside its body\n", per_entry);
  EXPECT_LE(per_entry, kBytesPerEntryMax);
}

TEST_F(RedisBroker, ADestroyedAdapterCallsNobody) {
  bool called = false;
  {
    auto one = process("one");
    publish(0, 3);
    pull(*one);
    const auto publisher = one->broker->publisher("payouts");
    publisher->publish(message("x"), [&](Result<void>) { called = true; });
    one->timer->schedule({"t", kT0, message("m")}, [&](Result<void>) { called = true; });
    one->timer->stats([&](Result<broker::TimerStats>) { called = true; });
    one->broker->dead_letters("dead")->list(0, 1, [&](Result<broker::DeadLetterPage>) { called = true; });
  }
  world_->run_for(1s);
  EXPECT_FALSE(called);
}

TEST_F(RedisBroker, TheSettingsOfAnUnsafeRedisAreNamed) {
  rs::DurabilityWarnings warnings;
  rs::check_durability(world_->client(), [&](rs::DurabilityWarnings found) { warnings = std::move(found); });
  world_->run_ready();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("appendonly is off"), std::string::npos) << warnings[0];
  EXPECT_EQ(ask({"CONFIG", "SET", "appendonly", "yes"}), "OK");
  for (const std::string appendfsync : {"everysec", "always"}) {
    EXPECT_EQ(ask({"CONFIG", "SET", "appendfsync", appendfsync}), "OK");
    rs::check_durability(world_->client(),
                         [&](rs::DurabilityWarnings found) { warnings = std::move(found); });
    world_->run_ready();
    const bool named = !warnings.empty() && warnings[0].find("appendfsync is everysec") != std::string::npos;
    EXPECT_EQ(named, appendfsync == "everysec") << (warnings.empty() ? "" : warnings[0]);
    EXPECT_LE(warnings.size(), 1u);
  }
  EXPECT_EQ(ask({"CONFIG", "SET", "appendonly", "no"}), "OK");
}

TEST(RedisDurability, ReplicasFailedWritesAndFsyncsAreNamed) {
  const auto count = [](const std::string& info, std::optional<std::string_view> appendfsync = {}) {
    return rs::durability_of("n", info, appendfsync).size();
  };
  const std::string good = "# Server\r\nredis_version:7.0.15\r\naof_enabled:1\r\n";
  EXPECT_EQ(count(good), 0u);
  EXPECT_EQ(count(good + "connected_slaves:1\r\n"), 1u);
  EXPECT_EQ(count(good + "connected_slaves:1\r\nmin_slaves_good_slaves:1\r\n"), 0u);
  EXPECT_EQ(count(good + "aof_delayed_fsync:3\r\n"), 1u);
  EXPECT_EQ(count(good + "aof_last_write_status:err\r\n"), 1u);
  EXPECT_EQ(count(good, "always"), 0u);
  EXPECT_EQ(count(good + "aof_delayed_fsync:3\r\n", "always"), 0u) << "of the time before it was set";
  EXPECT_EQ(count(good, "everysec"), 1u);
  EXPECT_EQ(count("# Server\r\naof_enabled:0\r\n", "everysec"), 1u) << "nothing is written at all";
}

/// Claims of one stream, asked in turn.
class RedisClaims : public RedisBroker {
 protected:
  static constexpr std::size_t kClaimMax = 1'000;
  static constexpr std::size_t kAllMax = 2'500;

  Result<void> put(const std::string& id, const std::string& bytes,
                   broker::ClaimOf of = broker::ClaimOf::new_event) {
    Result<void> kept = fail(ErrorCode::timed_out, "no answer");
    claims_->put(id, bytes, of, [&](Result<void> answer) { kept = std::move(answer); });
    world_->run_ready();
    return kept;
  }
  broker::FoundClaim look(const std::string& id) {
    broker::FoundClaim found{.bytes = "no answer"};
    claims_->find(id, [&](Result<broker::FoundClaim> answer) { found = answer.value(); });
    world_->run_ready();
    return found;
  }
  std::optional<std::string> find(const std::string& id) { return look(id).bytes; }
  void let_go(const std::string& id) {
    claims_->let_go(id);
    world_->run_ready();
  }
  std::string size() { return ask({"GET", "claim-size:{payouts/p00}"}); }
  std::string pttl(const std::string& id) { return ask({"PTTL", "claim:{payouts/p00}:" + id}); }

  std::unique_ptr<rs::Broker> broker_ = world_->process("one");
  std::unique_ptr<broker::Claims> claims_ =
      broker_->claims("payouts", {.claim_bytes_max = kClaimMax, .bytes_max = kAllMax});
};

TEST_F(RedisClaims, GiveBackTheirBytesUntilTheyAreLetGoAndAWhileLonger) {
  const std::string bytes("\0\r\n\xff{", 5);
  ASSERT_TRUE(put("a", bytes));
  ASSERT_TRUE(put("a", bytes)) << "again is once";
  EXPECT_EQ(size(), "5");
  EXPECT_EQ(find("a"), bytes);
  EXPECT_EQ(find("b"), std::nullopt);
  EXPECT_GT(std::stoll(pttl("a")), std::chrono::milliseconds{std::chrono::hours{24 * 31}}.count())
      << "longer than Cloud Tasks keeps a task";
  let_go("a");
  let_go("b");
  EXPECT_EQ(find("a"), bytes) << "a task may come twice";
  EXPECT_LE(std::stoll(pttl("a")), rs::kClaimGrace / std::chrono::milliseconds{1});
  EXPECT_EQ(ask({"EXISTS", "claim:{payouts/p00}:b"}), "0");
  EXPECT_FALSE(look("c").over);
  world_->run_for(rs::kClaimGrace + 1s);
  EXPECT_EQ(find("a"), std::nullopt);
  EXPECT_TRUE(look("a").over);
  ASSERT_TRUE(put("a", bytes));
  EXPECT_FALSE(look("a").over) << "it counts again";
}

TEST_F(RedisClaims, AreBoundedEachAndTogetherAndRoomComesBack) {
  const auto large = put("large", std::string(kClaimMax + 1, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
  const std::string kilo(kClaimMax, 'x');
  ASSERT_TRUE(put("a", kilo));
  ASSERT_TRUE(put("b", kilo));
  const auto full = put("c", kilo);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::too_large);
  EXPECT_FALSE(full.error().transient) << "a letter with its bytes, not a burst that stands still";
  EXPECT_NE(full.error().detail.find("2000 of 2500"), std::string::npos) << full.error().detail;
  EXPECT_EQ(find("c"), std::nullopt);
  ASSERT_TRUE(put("d", std::string(500, 'x'))) << "a smaller one fits";
  ASSERT_TRUE(put("a", kilo)) << "what is there needs no room";
  let_go("a");
  world_->run_for(rs::kClaimGrace + 1s);
  ASSERT_TRUE(put("c", kilo));
  EXPECT_EQ(size(), "2500");
}

TEST_F(RedisClaims, OfAnEventThatMovesMayTakeAsMuchRoomAgain) {
  const std::string kilo(kClaimMax, 'x');
  for (const char* id : {"a0", "b0"}) ASSERT_TRUE(put(id, kilo));
  ASSERT_FALSE(put("c0", kilo)) << "a newcomer";
  for (const char* id : {"a1", "b1"})
    ASSERT_TRUE(put(id, kilo, broker::ClaimOf::moved_event)) << "it had its place";
  EXPECT_EQ(size(), "4000");
  ASSERT_TRUE(put("a2", kilo, broker::ClaimOf::moved_event));
  EXPECT_FALSE(put("b2", kilo, broker::ClaimOf::moved_event)) << "bounded all the same";
}

TEST_F(RedisClaims, AfterRedisWasEmptiedThereIsRoomForAll) {
  ASSERT_TRUE(put("a", std::string(kClaimMax, 'x')));
  EXPECT_EQ(ask({"FLUSHALL"}), "OK");
  EXPECT_EQ(find("a"), std::nullopt);
  for (const char* id : {"a", "b"}) ASSERT_TRUE(put(id, std::string(kClaimMax, 'x')));
  EXPECT_EQ(size(), "2000");
}

TEST(RedisKeys, ANameCannotForgeItsHashTag) {
  EXPECT_EQ(rs::partition_tag("payouts", 7), "{payouts/p07}");
  EXPECT_EQ(rs::partition_tag("a}{b%", 12), "{a%7D%7Bb%25/p12}");
  EXPECT_EQ(rs::id_record_key("dg:", "{t/p00}", "id"), "dg:i:{t/p00}:id");
}

}  // namespace
}  // namespace dripgate::testing
