// The pure parts of the adapter on Pub/Sub, and its checks at start.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/pubsub/ack_batches.h"
#include "broker/pubsub/lease_keeper.h"
#include "broker/pubsub/message_codec.h"
#include "broker/pubsub/publish_batches.h"
#include "broker/pubsub/start_checks.h"
#include "support/virtual_time.h"

namespace dripgate::broker::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attributes sorted(Attributes attributes) {
  std::ranges::sort(attributes);
  return attributes;
}

// As it comes back from the service, which gives an id of its own.
Message there_and_back(const Message& message) {
  auto wire = to_wire(message);
  EXPECT_TRUE(wire) << wire.error().detail;
  EXPECT_LE(wire->attributes.size(), kAttributesMax);
  EXPECT_FALSE(wire->data.empty() && wire->attributes.empty());
  for (const auto& [name, value] : wire->attributes) {
    EXPECT_FALSE(name.empty() || name.starts_with("goog"));
    EXPECT_LE(name.size(), kAttributeNameBytesMax);
    EXPECT_LE(value.size(), kAttributeValueBytesMax);
    for (const char c : name + value) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << name;
  }
  wire->id = "given";
  Message back = from_wire(*std::move(wire));
  back.attributes = sorted(std::move(back.attributes));
  return back;
}

TEST(PubsubMessages, KeepWhatAnAttributeOfPubsubCannotHold) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  Attributes attributes{{"", "nameless"},
                        {"name", bytes},
                        {"goog-x", "reserved"},
                        {"plain", "x"},
                        {"long", std::string(5000, 'y')},
                        {"dripgate-packed-00", "forged"},
                        {"dripgate-message-id", "forged"},
                        {std::string(300, 'n'), "v"}};
  const Message back = there_and_back({"id", "body", attributes, {}});
  EXPECT_EQ(back.id, "id");
  EXPECT_EQ(back.body, "body");
  // An id that a source message claims for itself is not its own; the rest is whole.
  std::erase_if(attributes, [](const auto& a) { return a.first == "dripgate-message-id"; });
  Attributes got = back.attributes;
  std::erase_if(got, [](const auto& a) { return a.first == "dripgate-message-id"; });
  EXPECT_EQ(got, sorted(attributes));
}

TEST(PubsubMessages, KeepManyAttributesAndNone) {
  Attributes many;
  for (int i = 0; i < 300; ++i) many.emplace_back("name-" + std::to_string(i), "value");
  EXPECT_EQ(there_and_back({"", "b", many, {}}).attributes, sorted(many));
  const Message nothing = there_and_back({"", "", {}, {}});
  EXPECT_TRUE(nothing.body.empty() && nothing.attributes.empty());
  EXPECT_EQ(nothing.id, "given");
}

TEST(PubsubMessages, CarryTheOrderingKeyAsAnAttribute) {
  const auto wire = to_wire({"", "b", {{std::string(kOrderingKeyAttribute), "m1"}, {"a", "1"}}, {}});
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->ordering_key, "m1");
  EXPECT_THAT(wire->attributes, ElementsAre(std::pair{"a", "1"}));
  const Message back = from_wire(*wire);
  ASSERT_NE(find(back.attributes, kOrderingKeyAttribute), nullptr);
  EXPECT_EQ(*find(back.attributes, kOrderingKeyAttribute), "m1");
}

TEST(PubsubMessages, RefuseWhatIsTooLarge) {
  EXPECT_EQ(to_wire({"", std::string(kMessageBytesMax, 'x'), {}, {}}).error().code, ErrorCode::too_large);
  EXPECT_EQ(to_wire({"", "b", {{"a", std::string(200'000, 'x')}}, {}}).error().code, ErrorCode::too_large);
}

TEST(PubsubLeases, FollowWhatHandlingTakes) {
  LeaseKeeper keeper(10min);
  EXPECT_EQ(keeper.lease_seconds(), 10);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    keeper.take(i, 0s);
    keeper.settle(i, i < 980 ? 1s : 25s);
  }
  (void)keeper.round(30s);
  EXPECT_EQ(keeper.lease_seconds(), 25);
  keeper.exactly_once(true);
  EXPECT_EQ(keeper.lease_seconds(), 60);
  keeper.exactly_once(false);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    keeper.take(i, 0s);
    keeper.settle(i, 2000s);
  }
  (void)keeper.round(30s);
  EXPECT_EQ(keeper.lease_seconds(), kLeaseSecondsMax);
}

TEST(PubsubLeases, OfADeliveryThatWasOnItsWayWhenTheyGrewDoNotRunOut) {
  LeaseKeeper keeper(10min);
  keeper.take(1, 0s);
  keeper.settle(1, 30s);
  (void)keeper.round(30s);
  ASSERT_EQ(keeper.lease_seconds(), 30);
  keeper.take(2, 31s);  // sent before the stream heard of it
  EXPECT_TRUE(keeper.round(35s).extend.empty());
  EXPECT_THAT(keeper.round(36s).extend, ElementsAre(2));
  EXPECT_TRUE(keeper.round(60s).extend.empty());
  EXPECT_THAT(keeper.round(61s).extend, ElementsAre(2));
}

TEST(PubsubLeases, AreExtendedBeforeTheirEndAndNotBeyondTheDeadline) {
  LeaseKeeper keeper(25s);
  keeper.take(1, 0s);
  EXPECT_TRUE(keeper.round(4s).extend.empty());
  EXPECT_THAT(keeper.round(5s).extend, ElementsAre(1));
  EXPECT_TRUE(keeper.round(9s).extend.empty());
  EXPECT_THAT(keeper.round(10s).extend, ElementsAre(1));
  EXPECT_THAT(keeper.round(25s).expired, ElementsAre(1));
  EXPECT_TRUE(keeper.round(26s).expired.empty());
}

TEST(PubsubLeases, TimeThatPassesIsNotWhatTheClockShows) {
  ElapsedTime time(testing::kT0);
  EXPECT_EQ(time.at(testing::kT0 + 1s), 1s);
  EXPECT_EQ(time.at(testing::kT0 - 1h), 1s);
  EXPECT_EQ(time.at(testing::kT0 - 1h + 1s), 2s);
  EXPECT_EQ(time.at(testing::kT0 + 1h), 12s);
}

std::string told(const std::optional<AckRequest>& request) {
  if (!request) return "";
  std::string line = request->seconds ? std::to_string(*request->seconds) : "ack";
  for (const std::string& id : request->ids()) line += " " + id;
  return line;
}

TEST(PubsubAcks, NoExtensionArrivesBehindAnAckOrAHandBack) {
  AckBatches batches;
  batches.modify({.id = "a"}, 10);
  batches.modify({.id = "b"}, 10);
  batches.modify({.id = "b"}, 0);
  batches.ack({.id = "a"});
  batches.modify({.id = "a"}, 10);
  EXPECT_EQ(told(batches.next()), "ack a");
  EXPECT_EQ(told(batches.next()), "0 b");
  EXPECT_EQ(told(batches.next()), "");
  EXPECT_TRUE(batches.empty());
}

TEST(PubsubAcks, KeepTheBoundsOfARequestAndTakeTurns) {
  AckBatches batches;
  for (int i = 0; i < 3000; ++i) batches.ack({.id = std::string(100, 'x') + std::to_string(i)});
  batches.modify({.id = "m"}, 20);
  EXPECT_EQ(batches.next()->entries.size(), kAckIdsMax);
  EXPECT_EQ(told(batches.next()), "20 m");
  EXPECT_EQ(batches.next()->entries.size(), 500u);
  for (int i = 0; i < 2500; ++i) batches.modify({.id = std::string(1000, 'y') + std::to_string(i)}, 10);
  std::size_t all = 0;
  while (auto request = batches.next()) {
    if (request->entries.empty()) break;
    std::size_t bytes = 0;
    for (const AckEntry& entry : request->entries) bytes += entry.id.size() + kAckIdOverhead;
    EXPECT_LE(bytes, kAckBytesMax);
    all += request->entries.size();
  }
  EXPECT_EQ(all, 2500u);
}

WireMessage wire(std::string data, std::string key = "") {
  return {
      .data = std::move(data), .attributes = {}, .ordering_key = std::move(key), .id = {}, .published = {}};
}

TEST(PubsubPublishes, GoAtOnceWhenNothingIsOnItsWayAndTogetherBehindThat) {
  PublishBatches batches;
  batches.add(wire("a"), {});
  const auto first = batches.next();
  ASSERT_TRUE(first);
  batches.add(wire("b"), {});
  batches.add(wire("c"), {});
  EXPECT_FALSE(batches.next());
  batches.linger_over();
  EXPECT_EQ(batches.next()->messages.size(), 2u);
  for (std::size_t i = 0; i < kPublishMessagesMax + 1; ++i) batches.add(wire("d"), {});
  EXPECT_EQ(batches.next()->messages.size(), kPublishMessagesMax);
  EXPECT_FALSE(batches.next());
  batches.ended(*first);
  for (int i = 0; i < 3; ++i) batches.add(wire(std::string(4'000'000, 'x')), {});
  EXPECT_EQ(batches.next()->messages.size(), 3u);  // "d" and two: the third would be over 9 MB
}

TEST(PubsubPublishes, OfOneOrderingKeyGoOneBehindTheOther) {
  PublishBatches batches;
  batches.add(wire("a1", "a"), {});
  batches.add(wire("b1", "b"), {});
  const auto a = batches.next();
  batches.add(wire("a2", "a"), {});
  batches.add(wire("a3", "a"), {});
  const auto b = batches.next();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(b->ordering_key, "b");
  EXPECT_FALSE(batches.next());
  batches.ended(*a);
  EXPECT_EQ(batches.next()->messages.size(), 2u);
  batches.ended(*b);
  EXPECT_EQ(batches.in_flight(), 1u);
}

TEST(PubsubFailures, SayWhatIsAtFault) {
  const auto error = [](Status status) { return to_error({.status = status, .text = "x"}, "publish"); };
  EXPECT_FALSE(error(Status::invalid_argument).transient);
  for (const Status status : {Status::not_found, Status::permission_denied, Status::unauthenticated,
                              Status::failed_precondition, Status::unavailable, Status::resource_exhausted})
    EXPECT_TRUE(error(status).transient) << to_string(status);
  EXPECT_EQ(error(Status::deadline_exceeded).code, ErrorCode::timed_out);
  EXPECT_EQ(error(Status::aborted).detail, "publish: ABORTED (x)");
  EXPECT_FALSE(publish_again({Status::internal, "string field contains invalid UTF-8"}));
  EXPECT_TRUE(publish_again({Status::internal, "other"}));
  EXPECT_EQ(reopening({Status::ok, ""}, 0s, 1).wait, 0s);
  EXPECT_EQ(reopening({Status::resource_exhausted, ""}, 1h, 1).wait, kExhaustedWait);
  EXPECT_EQ(reopening({Status::unavailable, ""}, 1s, 40).wait, kRepeatMax);
}

class HandAdmin final : public Admin {
 public:
  Answer<void> find_topic(const std::string& topic) override {
    if (denied) return std::unexpected(Failure{Status::permission_denied, "no"});
    if (topics.contains(topic)) return {};
    return std::unexpected(Failure{Status::not_found, ""});
  }
  Answer<void> create_topic(const std::string& topic) override {
    topics[topic] = true;
    return {};
  }
  Answer<SubscriptionFacts> find_subscription(const std::string& name) override {
    if (denied) return std::unexpected(Failure{Status::permission_denied, "no"});
    if (subscriptions.contains(name)) return subscriptions[name];
    return std::unexpected(Failure{Status::not_found, ""});
  }
  Answer<void> create_subscription(const std::string& name, const SubscriptionFacts& facts) override {
    subscriptions[name] = facts;
    return {};
  }

  bool denied = false;
  std::map<std::string, bool> topics;
  std::map<std::string, SubscriptionFacts> subscriptions;
};

struct PubsubStart : ::testing::Test {
  static std::string t(const std::string& name) { return "projects/p/topics/" + name; }
  static std::string s(const std::string& name) { return "projects/p/subscriptions/" + name; }
  Result<std::vector<std::string>> check(bool create = false) {
    const std::vector places{StreamPlaces{"payouts", s("in"), t("over"), s("over"), t("dead"), t("out")}};
    return check_places(admin, places, create);
  }
  void make_all() { ASSERT_TRUE(check(true)); }

  HandAdmin admin;
};

TEST_F(PubsubStart, NamesWhatIsMissingAndMakesItOnlyWhenAsked) {
  const auto missing = check();
  ASSERT_FALSE(missing);
  EXPECT_EQ(
      missing.error().detail,
      "overflowTopic of stream payouts: there is no projects/p/topics/over; make it, correct the name, or "
      "start once with --create");
  EXPECT_TRUE(admin.topics.empty());
  const auto made = check(true);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(made->size(), 6u);
  EXPECT_EQ(admin.subscriptions[s("in")].topic, t("in"));
  EXPECT_EQ(admin.subscriptions[s("over")].topic, t("over"));
  const auto again = check();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST_F(PubsubStart, RefusesWhatCannotServe) {
  make_all();
  const SubscriptionFacts good = admin.subscriptions[s("in")];
  const auto with = [&](auto change) {
    admin.subscriptions[s("in")] = good;
    change(admin.subscriptions[s("in")]);
    const auto checked = check();
    return checked ? std::string() : checked.error().detail;
  };
  EXPECT_THAT(with([](auto& f) { f.push = true; }), HasSubstr("pushes to an endpoint"));
  EXPECT_THAT(with([](auto& f) { f.detached = true; }), HasSubstr("is detached"));
  EXPECT_THAT(with([](auto& f) { f.topic = "_deleted-topic_"; }), HasSubstr("has lost its topic"));
  EXPECT_THAT(with([](auto& f) { f.topic = t("out"); }), HasSubstr("to which the stream itself publishes"));
  admin.subscriptions[s("in")] = good;
  admin.subscriptions[s("over")].topic = t("other");
  EXPECT_THAT(check().error().detail, HasSubstr("accepted: a subscription of projects/p/topics/over"));
}

TEST_F(PubsubStart, AdvisesAgainstWhatTheDripDoesNotKeepOrWouldSuffer) {
  make_all();
  SubscriptionFacts& facts = admin.subscriptions[s("in")];
  facts.ordering = true;
  facts.dead_letter_topic = t("theirs");
  facts.max_delivery_attempts = 5;
  facts.ack_deadline_seconds = 600;
  const auto advice = check();
  ASSERT_TRUE(advice);
  ASSERT_EQ(advice->size(), 3u);
  EXPECT_THAT((*advice)[0], HasSubstr("after 5 deliveries, our own redeliveries counted"));
  EXPECT_THAT((*advice)[1], HasSubstr("keeps order"));
  EXPECT_THAT((*advice)[2], HasSubstr("ack deadline of 600 s"));
}

TEST_F(PubsubStart, GoesOnWhereItMayNotLook) {
  admin.denied = true;
  const auto advice = check();
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->size(), 5u);
}

}  // namespace
}  // namespace dripgate::broker::pubsub
