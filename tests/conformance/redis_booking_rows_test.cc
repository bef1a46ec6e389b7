// What bookings leave in Redis: rows of another format are refused, never taken for none; every name has a
// TTL, and what has expired leaves its bucket.
#include <sstream>

#include <gtest/gtest.h>

#include "conformance/limits.h"
#include "net/io_loop_impl.h"
#include "redis/make_client.h"
#include "store/redis/booking_names.h"
#include "store/redis/stores.h"
#include "support/redis/redis_server.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

class RedisBookingRows : public ::testing::Test {
 protected:
  RedisBookingRows() {
    clock.set(kT0);
    redis::Options options;
    options.nodes = {{.host = "127.0.0.1", .port = server.port()}};
    options.timeout = 10s;
    client = *redis::make_client(loop, std::move(options));
    bookings = store::make_redis_booking_store(*client);
  }
  /// The outcome's number, or the error's word.
  std::string reserve(const std::string& id) {
    std::string said;
    bookings->reserve({.key = key,
                       .event_id = id,
                       .body_digest = 7,
                       .cost = 1,
                       .first_received = {},
                       .after_generation = {},
                       .policy = policy},
                      [&](Result<core::ReserveAnswer> answer) {
                        said = answer ? std::to_string(static_cast<int>(answer->outcome))
                                      : to_string(answer.error().code);
                      });
    while (said.empty()) {
      loop.impl()->context.restart();
      if (loop.impl()->context.run_one_for(10s) == 0) return "no answer";
    }
    return said;
  }
  static std::string bucket_of(const std::string& id) {
    return store::BookingNames::events("{s}", store::BookingNames::field_of(id));
  }

  SteeredClock clock;
  RedisServer server{{.clock = &clock}};
  net::IoLoop loop;
  std::unique_ptr<redis::Client> client;
  std::unique_ptr<store::BookingStore> bookings;
  std::string key = "s:key";
  core::BookingPolicyPtr policy = std::make_shared<core::BookingPolicy>(
      core::BookingPolicy{.limits = {per(2, 60s)}, .max_delay = 1h, .id_retention = 1h});
};

TEST_F(RedisBookingRows, AStateOrRecordOfAnotherFormatIsAnErrorAndStaysAsItIs) {
  EXPECT_EQ(reserve("a"), "0");
  const std::string row = store::BookingNames::row("{s}", store::BookingNames::tag_of(key));
  for (const auto& [bytes, error] :
       {std::pair{"2later", "newer_version"}, {"1short", "corrupt"}, {"?", "corrupt"}}) {
    ASSERT_EQ(server.ask({"SET", row, bytes}), "OK");
    EXPECT_EQ(reserve("b"), error);
    EXPECT_EQ(server.ask({"GET", row}), bytes);
  }
  ASSERT_EQ(server.ask({"DEL", row}), "1");
  for (const auto& [bytes, error] : {std::pair{" later", "newer_version"}, {"\x10short", "corrupt"}}) {
    (void)server.ask({"HSET", bucket_of("a"), "a", bytes});
    EXPECT_EQ(reserve("a"), error);
    EXPECT_EQ(server.ask({"HGET", bucket_of("a"), "a"}), bytes);
  }
}

TEST_F(RedisBookingRows, ARowOfANewerVersionIsLeftAloneByEveryCallAndItsSlotsStay) {
  for (const char* id : {"a", "b", "c"}) (void)reserve(id);  // now, now, in the next window
  const std::string row = store::BookingNames::row("{s}", store::BookingNames::tag_of(key));
  const std::string ours = server.ask({"DUMP", row});
  const std::string theirs = "2 written in another way";
  ASSERT_EQ(server.ask({"SET", row, theirs, "KEEPTTL"}), "OK");
  const store::Ticket ticket{.key = key,
                             .event_id = "c",
                             .body_digest = 7,
                             .generation = 0,
                             .slot = kT0 + 60s,
                             .cost = 1,
                             .first_received = kT0};
  clock.set(kT0 + 60s);
  std::vector<std::string> said;
  const auto heard = [&](const auto& answer) {
    said.emplace_back(answer ? "answered" : to_string(answer.error().code));
  };
  bookings->gate({ticket, policy}, heard);
  bookings->release(key, "c", 0, policy, heard);
  bookings->freeze(key, kT0 + 1h, heard);
  bookings->thaw(key, heard);
  bookings->inspect(key, policy, heard);
  while (said.size() < 5) {
    loop.impl()->context.restart();
    ASSERT_GT(loop.impl()->context.run_one_for(10s), 0u);
  }
  EXPECT_EQ(said, std::vector<std::string>(5, "newer_version"));
  EXPECT_EQ(reserve("d"), "newer_version");
  EXPECT_EQ(server.ask({"GET", row}), theirs);
  ASSERT_EQ(server.ask({"RESTORE", row, "3600000", ours, "REPLACE"}), "OK");
  std::string gated;
  bookings->gate({ticket, policy}, [&](const Result<core::GateAnswer>& answer) {
    gated = answer && answer->outcome == core::GateOutcome::go ? "go" : "not";
  });
  while (gated.empty()) {
    loop.impl()->context.restart();
    ASSERT_GT(loop.impl()->context.run_one_for(10s), 0u);
  }
  EXPECT_EQ(gated, "go");
}

TEST_F(RedisBookingRows, EveryNameHasATtlAndExpiredRecordsLeaveTheirBucket) {
  // Ids of one bucket, found by trying.
  std::vector<std::string> ids{"0"};
  for (int number = 1; ids.size() < 12; ++number) {
    if (bucket_of(std::to_string(number)) == bucket_of("0")) ids.push_back(std::to_string(number));
  }
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_NE(reserve(ids[i]), "no answer");
  std::istringstream names(server.ask({"KEYS", "*"}));
  for (std::string name; std::getline(names, name);)
    EXPECT_GT(std::stoll(server.ask({"PTTL", name})), 0) << name;
  EXPECT_EQ(server.ask({"HLEN", bucket_of("0")}), "12");  // eleven, and the bucket's own field
  // Over for the records, not yet for the bucket.
  clock.set(kT0 + 1h + 10min + 20min);
  key = "s:other";  // the first one's timers are overdue
  EXPECT_EQ(reserve(ids.back()), "0");
  EXPECT_EQ(server.ask({"HLEN", bucket_of("0")}), "2");
  clock.set(kT0 + 240h);
  EXPECT_EQ(server.ask({"EXISTS", bucket_of("0")}), "0");
}

}  // namespace
}  // namespace dripgate::testing
