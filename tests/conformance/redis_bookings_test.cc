// Bookings on Redis beyond the port's sentences: calls that share a script call answer as if they were asked
// one after another, and a process that died leaves nothing that its successor would book twice.
#include <array>
#include <random>

#include "conformance/booking_fixture.h"
#include "conformance/redis_backend.h"
#include "store/memory/stores.h"

namespace dripgate::testing {
namespace {

constexpr int kRounds = 240;
constexpr int kCallsMax = 160;  // a third of them is more than one script call takes

class RedisBatches : public ::testing::Test {
 protected:
  using Answers = std::vector<std::string>;

  static std::string words(const Result<core::ReserveAnswer>& answer) {
    if (!answer) return to_string(answer.error().code);
    return std::to_string(static_cast<int>(answer->outcome)) + " " + std::to_string(to_us(answer->now)) +
           " " + std::to_string(to_us(answer->slot)) + " " + std::to_string(answer->generation) + " " +
           std::to_string(to_us(answer->first_received)) + " " + std::to_string(answer->deciding_limit) +
           " " + std::to_string(to_us(answer->valid_until));
  }
  static std::string words(const Result<core::GateAnswer>& answer) {
    if (!answer) return to_string(answer.error().code);
    return std::to_string(static_cast<int>(answer->outcome)) + " " + std::to_string(to_us(answer->slot)) +
           " " + std::to_string(answer->generation) + " " + std::to_string(answer->deciding_limit);
  }

  /// All requests at once, without waiting for an answer in between.
  template <class Answer, class Request>
  Answers together(const std::vector<Request>& requests, auto call) {
    Answers answers(requests.size());
    std::size_t open = requests.size();
    store::BookingStore& bookings = under->bookings();
    for (std::size_t i = 0; i < requests.size(); ++i)
      call(bookings, requests[i], Done<Answer>([&, i](Result<Answer> answer) {
             answers[i] = words(answer);
             --open;
           }));
    while (open > 0 && under->run_one()) {
    }
    EXPECT_EQ(open, 0u);
    return answers;
  }
  template <class Answer, class Request>
  Answers in_turn(const std::vector<Request>& requests, auto call) {
    Answers answers;
    for (const Request& request : requests)
      call(*memory, request, Done<Answer>([&](Result<Answer> answer) { answers.push_back(words(answer)); }));
    return answers;
  }

  VirtualClock clock;
  std::unique_ptr<StoreUnderTest> under = redis_backend().make(clock);
  std::unique_ptr<store::BookingStore> memory = store::make_memory_booking_store(clock);
};

std::vector<core::Limit> family(int number) {
  if (number == 0) return {per(7, 10s)};
  if (number == 1) return {per(3, 1s), per(20, 10s)};
  if (number == 2) return {bucket(6, 10s, 4)};
  return {log_of(9, 10s)};
}

TEST_F(RedisBatches, CallsThatTravelTogetherAnswerAsIfAskedInTurn) {
  std::mt19937 random(7);
  const auto reserve = [](store::BookingStore& store, const store::ReserveRequest& request, auto done) {
    store.reserve(request, std::move(done));
  };
  const auto gate = [](store::BookingStore& store, const store::GateRequest& request, auto done) {
    store.gate(request, std::move(done));
  };
  std::size_t booked = 0;
  for (int round = 0; round < kRounds; ++round) {
    core::BookingPolicy made{.limits = family(round % 4), .max_delay = 90s};
    made.spread = round % 8 < 4 ? core::Spread::even : core::Spread::start;
    const auto policy = std::make_shared<core::BookingPolicy>(made);
    // Now and then a process that has reloaded its policies shares calls with one that has not.
    made.limits.front().limit += 2;
    made.limits.front().capacity += 2;
    const auto reloaded = std::make_shared<core::BookingPolicy>(made);
    const bool reloading = round % 5 == 4;
    // One key, a few, or one per id: each key of a call has its own row in it.
    const int keys = std::array{2, 8, 60}[static_cast<std::size_t>(round % 3)];
    const unsigned ids = round % 7 < 3 ? 60 : 4'000;
    std::vector<store::ReserveRequest> requests;
    const auto prefix = std::to_string(round);
    for (int i = 0; i < static_cast<int>(random() % kCallsMax); ++i) {
      // Often few ids: the same one comes again within the call, also with other bytes. (Under another key it
      // is asked a second time, where it belongs, and then answers after the others.)
      const int id = static_cast<int>(random() % ids);
      store::ReserveRequest request{
          .key = "s:" + prefix + "." + std::to_string(id % keys),
          .event_id = prefix + "-" + std::to_string(id),
          .body_digest = random() % 20 == 0 ? 8u : 7u,
          .cost = random() % 4 == 0 ? static_cast<core::Units>(random() % (ids == 60 ? 9 : 5)) : 1,
          .first_received = {},
          .after_generation = {},
          .policy = reloading && random() % 3 == 0 ? reloaded : policy};
      if (random() % 10 == 0) request.first_received = clock.now() - 5s;
      if (random() % 40 == 0) request.after_generation = random() % 2;
      requests.push_back(request);
    }
    // In three parts: the later ones find keys with a backlog, ahead or overdue, or where nothing waits any
    // more.
    for (std::size_t part = 0; part < 3; ++part) {
      const std::vector<store::ReserveRequest> some(requests.begin() + requests.size() * part / 3,
                                                    requests.begin() + requests.size() * (part + 1) / 3);
      ASSERT_EQ(together<core::ReserveAnswer>(some, reserve), in_turn<core::ReserveAnswer>(some, reserve))
          << "round " << round << ", part " << part;
      clock.advance(Duration{1ms} * (random() % 12'000));
    }
    clock.advance(Duration{1ms} * (random() % 40'000));
    std::vector<store::GateRequest> firings;
    for (const auto& request : requests)
      firings.push_back({.ticket = {.key = request.key,
                                    .event_id = request.event_id,
                                    .body_digest = request.body_digest,
                                    .generation = static_cast<std::uint32_t>(random() % 2),
                                    .slot = clock.now(),
                                    .cost = std::max<core::Units>(1, request.cost),
                                    .first_received = clock.now()},
                         .policy = policy});
    const auto answers = together<core::GateAnswer>(firings, gate);
    ASSERT_EQ(answers, in_turn<core::GateAnswer>(firings, gate)) << "round " << round;
    for (const auto& answer : answers) booked += answer.starts_with("1 ") ? 1 : 0;
    clock.advance(10s);
  }
  EXPECT_GT(booked, 100u);
}

class RedisSuccessor : public BookingConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, RedisSuccessor, ::testing::Values(redis_reconnecting_backend()),
                         backend_name);

TEST_P(RedisSuccessor, ANewProcessThatAsksAgainGetsTheSameSlotAndBooksNothing) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(r("b", 1, 1001), "AT 60000");
  EXPECT_EQ(r("a", 2, 1001), "NOW");
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(g("b", 0, 60001), "REBOOK 120000");  // released, not settled: its timer waits for the lease
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(r("b", 1, 60002), "DUPLICATE");
  EXPECT_EQ(pending(), 0);
}

class RedisEmptied : public BookingConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, RedisEmptied, ::testing::Values(redis_backend(), redis_cluster_backend()),
                         backend_name);

TEST_P(RedisEmptied, NewcomersWaitForAWindowAlsoWhereNoTimerFiresFirst) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  under->empty();
  EXPECT_EQ(r("n", 1, 2000), "AT 60000") << "two were released in this window";
  EXPECT_EQ(r("m", 1, 2001), "AT 60000");
  EXPECT_EQ(r("o", 1, 2002), "AT 120000");
  EXPECT_EQ(g("n", 0, 60000), "GO");
  EXPECT_EQ(g("m", 0, 60000), "GO");
  EXPECT_EQ(g("o", 0, 120000), "GO");
  EXPECT_EQ(r("p", 1, 120001), "NOW");
}

TEST_P(RedisEmptied, ALogAndABucketWaitUntilNothingOfBeforeCanCount) {
  for (const core::Limit& limit : {log_of(2, 60s), bucket(2, 60s, 2)}) {
    under->empty();
    under = GetParam().make(clock);
    use({limit});
    EXPECT_EQ(r("a", 2, 1000), "NOW");
    under->empty();
    EXPECT_EQ(r("n", 1, 2000), "AT 62000");
  }
}

TEST_P(RedisEmptied, AFreezeDoesNotHideTheLoss) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  under->empty();
  EXPECT_TRUE(freeze(3000));
  EXPECT_EQ(r("n", 1, 4000), "AT 60000");
}

TEST_P(RedisEmptied, ASecondLossIsSeenToo) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  under->empty();
  EXPECT_EQ(r("n", 1, 60000), "AT 120000");
  under->empty();
  EXPECT_EQ(r("m", 1, 180000), "AT 240000");
}

}  // namespace
}  // namespace dripgate::testing
