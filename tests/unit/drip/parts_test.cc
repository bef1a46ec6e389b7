// The parts of the drip that need no port: intake, planner, waits, tickets, names.
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "broker/attribute_names.h"
#include "drip/backoff.h"
#include "drip/enrich.h"
#include "drip/intake.h"
#include "drip/names.h"
#include "drip/planner.h"
#include "drip/reasons.h"
#include "drip/ticket.h"
#include "support/virtual_time.h"

namespace dripgate::drip {
namespace {

using testing::kT0;

core::KeyTemplate parsed(std::string_view text) {
  return core::KeyTemplate::parse(text).value();
}

std::shared_ptr<core::Stream> stream_with(std::string_view key) {
  auto policy = std::make_shared<core::BookingPolicy>();
  policy->limits = {
      {.algorithm = core::Algorithm::fixed_window, .limit = 100, .window = 60s, .capacity = 100, .zone = {}}};
  auto stream = std::make_shared<core::Stream>(core::Stream{.id = "payouts",
                                                            .key = parsed(key),
                                                            .event_id = parsed("{payoutId}"),
                                                            .cost = {},
                                                            .booking = policy,
                                                            .overflow_topic = "payout-events-overflow",
                                                            .dead_letter_topic = "payout-events-dlq"});
  stream->max_attempts = 3;
  return stream;
}

broker::Message message_of(std::string body, broker::Attributes attributes = {}) {
  return {.id = "m1", .body = std::move(body), .attributes = std::move(attributes), .published = kT0};
}

constexpr const char* kPayout =
    R"({ "payoutId": "pay_902184", "merchant_id": 8421, "amount": 2500.00, "currency": "INR" })";

TEST(Intake, RendersIdKeyAndDigest) {
  Intake intake;
  const Admission admission = intake.admit(stream_with("merchant_{merchant_id}:payout"), message_of(kPayout));
  EXPECT_EQ(admission.reason, "");
  EXPECT_EQ(admission.event->id, "pay_902184");
  EXPECT_EQ(admission.event->key, "payouts:merchant_8421:payout");
  EXPECT_EQ(rendered_key(*admission.event), "merchant_8421:payout");
  EXPECT_EQ(admission.event->digest, body_digest(kPayout));
  EXPECT_EQ(admission.event->cost, 1);
  EXPECT_EQ(admission.event->first_received, kT0);
}

TEST(Intake, TakesAttributesBeforeThePayload) {
  Intake intake;
  const auto stream = stream_with("merchant_{merchant_id}:payout");
  EXPECT_EQ(intake.admit(stream, message_of(kPayout, {{"merchant_id", "7"}})).event->key,
            "payouts:merchant_7:payout");
  EXPECT_EQ(intake.admit(stream, message_of(kPayout, {{"merchant_id", ""}})).event->key,
            "payouts:merchant_8421:payout");
}

TEST(Intake, NeedsNoJsonWhenAttributesSuffice) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  stream->event_id.reset();
  const Admission admission = intake.admit(stream, message_of("\xff\x00 raw", {{"merchant_id", "7"}}));
  EXPECT_EQ(admission.reason, "");
  EXPECT_EQ(admission.event->id, "m1");
}

TEST(Intake, CallsAPayloadMalformedOnlyWhenANameNeedsIt) {
  Intake intake;
  const Admission admission = intake.admit(stream_with("{merchant_id}"), message_of("{\"merchant_id\": 1"));
  EXPECT_EQ(admission.reason, reasons::kMalformedPayload);
  EXPECT_EQ(admission.event->original.body, "{\"merchant_id\": 1");
  EXPECT_EQ(admission.event->generation, kNoGeneration);
}

TEST(Intake, PutsEventsWithoutAKeyIntoOneBucketOrTheDeadLetters) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  Admission admission = intake.admit(stream, message_of(R"({"payoutId":"p","merchant_id":null})"));
  EXPECT_TRUE(admission.default_key);
  EXPECT_EQ(admission.reason, "");
  EXPECT_EQ(admission.event->key, default_key(*stream));
  stream->on_missing_key = core::StreamMissingKey::dead_letter;
  admission = intake.admit(stream, message_of(R"({"payoutId":"p"})"));
  EXPECT_EQ(admission.reason, reasons::kMissingKey);
  EXPECT_EQ(admission.event->id, "p");
}

TEST(Intake, NoValueRendersAsTheDefaultBucket) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  EXPECT_NE(intake.admit(stream, message_of(R"({"merchant_id":"*"})")).event->key, default_key(*stream));
}

TEST(Intake, PrefersTheIdThatTheCallerGave) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  EXPECT_EQ(intake.admit(stream, message_of(kPayout, {{std::string(broker::kGivenIdAttribute), "given"}}))
                .event->id,
            "given");
  EXPECT_EQ(intake.admit(stream, message_of(R"({"merchant_id":1})")).event->id, "m1");
}

TEST(Intake, DropsForgedAttributes) {
  Intake intake;
  const Admission admission = intake.admit(
      stream_with("{merchant_id}"),
      message_of(kPayout,
                 {{"dripgate-booking-key", "payouts:other"}, {"Dripgate-Attempts", "9"}, {"x", "y"}}));
  EXPECT_EQ(admission.event->original.attributes, (broker::Attributes{{"x", "y"}}));
}

TEST(Intake, StopsACircleOfTopics) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  const auto after = [&](int hops) {
    return intake.admit(stream, message_of(kPayout, {{"dripgate-hops", std::to_string(hops)}})).reason;
  };
  EXPECT_EQ(after(kHopsMax), "");
  EXPECT_EQ(after(kHopsMax + 1), reasons::kTooManyHops);
}

TEST(Intake, SaysOfJsonThatIsTooDeepThatItIsTooDeep) {
  Intake intake;
  const auto refused = [&](std::string body) {
    return intake.admit(stream_with("{merchant_id}"), message_of(std::move(body)));
  };
  const std::string deep = R"({"merchant_id":1,"x":)" + std::string(200, '[') + std::string(200, ']') + "}";
  EXPECT_EQ(refused(deep).reason, reasons::kMalformedPayload);
  EXPECT_TRUE(refused(deep).detail.contains("nested deeper than 128 levels")) << refused(deep).detail;
  EXPECT_TRUE(refused("{").detail.contains("not JSON")) << refused("{").detail;
}

TEST(Intake, TakesWholeCostsOnly) {
  Intake intake;
  const auto stream = stream_with("{merchant_id}");
  stream->cost = parsed("{n}");
  const auto with = [&](const std::string& cost) {
    return intake.admit(stream, message_of(R"({"merchant_id":1,"payoutId":"p","n":)" + cost + "}"));
  };
  EXPECT_EQ(with("5").event->cost, 5);
  EXPECT_EQ(with("\"7\"").event->cost, 7);
  for (const char* wrong : {"0", "-1", "1.5", "1e2", "\"x\"", "null", "99999999999999999999"}) {
    EXPECT_EQ(with(wrong).reason, reasons::kInvalidCost) << wrong;
  }
}

EventPtr booked_event(std::string body) {
  auto event = std::make_shared<Event>();
  event->stream = stream_with("merchant_{merchant_id}:payout");
  event->id = "pay_902184";
  event->key = "payouts:merchant_8421:payout";
  event->original = {
      .id = "m1", .body = std::move(body), .attributes = {{"traceparent", "00-a-b-01"}}, .published = kT0};
  event->digest = body_digest(event->original.body);
  event->first_received = kT0 - 5s;
  event->slot = kT0 + 120s;
  event->released = kT0 + 121s + 7us;
  event->generation = 2;
  event->cost = 3;
  event->attempts = 1;
  event->deferrals = 4;
  event->hops = 5;
  return event;
}

TEST(Enrich, WritesThePayloadOfTheFormat) {
  JsonPayload json;
  const std::string body = enrich(*booked_event(kPayout), 0, json).value();
  EXPECT_TRUE(json.is_document(body)) << body;
  EXPECT_TRUE(body.starts_with(
      R"({"isRatelimited":true,"rateLimitMeta":{"key":"merchant_8421:payout","windowType":"RPM","limit":100,)"
      R"("scheduledFor":"2027-01-15T08:02:00Z","overflowTopic":"payout-events-overflow","eventId":"pay_902184")"))
      << body;
  EXPECT_TRUE(body.ends_with(std::string(R"("originalPayload":)") + kPayout + "}")) << body;
  EXPECT_EQ(json.text_at(body, "/originalPayload/amount"), "2500.00");
}

TEST(Enrich, EscapesWhatStandsInIdsAndKeys) {
  JsonPayload json;
  const auto event = booked_event("1");
  event->id = "a\"\\\n\x01";
  const std::string body = enrich(*event, 0, json).value();
  EXPECT_EQ(json.text_at(body, "/rateLimitMeta/eventId"), event->id);
}

TEST(Enrich, ChangesItsVersionWithTheLimits) {
  core::BookingPolicy policy = *stream_with("k")->booking;
  const std::string before = policy_version(policy);
  EXPECT_EQ(policy_version(policy), before);
  policy.limits[0].limit = 50;
  EXPECT_NE(policy_version(policy), before);
}

class TicketBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(TicketBytes, ComeBackExactly) {
  JsonPayload json;
  const auto event = booked_event(GetParam());
  broker::Message message = write_ticket(*event, TicketKind::gate, 0, json);
  const auto opened = read_ticket(message, event->stream, json);
  ASSERT_TRUE(opened) << opened.error().detail;
  EXPECT_EQ(opened->kind, TicketKind::gate);
  const Event& back = *opened->event;
  EXPECT_EQ(back.original.body, event->original.body);
  EXPECT_EQ(back.original.attributes, event->original.attributes);
  EXPECT_EQ(back.original.id, "m1");
  EXPECT_EQ(store_ticket(back), store_ticket(*event));
  EXPECT_EQ(back.released, event->released);
  EXPECT_EQ(std::tie(back.attempts, back.deferrals, back.hops),
            std::tie(event->attempts, event->deferrals, event->hops));
}

INSTANTIATE_TEST_SUITE_P(Payloads, TicketBytes,
                         ::testing::Values(kPayout, " \n {\"a\": 1}\t\r\n", "2500.00", "\"text\"", "null",
                                           "no json", "", "{", "}", "{\"originalPayload\":{}}",
                                           ",\"originalPayload\":1"));

TEST(Ticket, IsPoisonWhenItIsNotThisStreams) {
  JsonPayload json;
  const auto event = booked_event(kPayout);
  const broker::Message good = write_ticket(*event, TicketKind::gate, 0, json);
  const auto broken = [&](std::string_view name, std::string value) {
    broker::Message message = good;
    broker::set(message.attributes, name, std::move(value));
    return !read_ticket(message, event->stream, json).has_value();
  };
  EXPECT_TRUE(broken("dripgate-stream", "other"));
  EXPECT_TRUE(broken("dripgate-overflow-topic", "other"));
  EXPECT_TRUE(broken("dripgate-booking-key", "other:key"));
  EXPECT_TRUE(broken("dripgate-ticket", "gates"));
  EXPECT_TRUE(broken("dripgate-generation", "-1"));
  EXPECT_TRUE(broken("dripgate-cost", "0"));
  EXPECT_TRUE(broken("dripgate-payload-bytes", "3"));
  EXPECT_TRUE(broken("dripgate-payload-bytes", "99999"));
  EXPECT_TRUE(broken("dripgate-digest", "1"));
  EXPECT_FALSE(broken("unrelated", "x"));
}

TEST(Ticket, IsPoisonWhenThePayloadNamesAnotherTopic) {
  JsonPayload json;
  const auto event = booked_event(kPayout);
  broker::Message message = write_ticket(*event, TicketKind::gate, 0, json);
  message.body.replace(message.body.find("payout-events-overflow"), 22, "payout-events-OVERFLOW");
  EXPECT_FALSE(read_ticket(message, event->stream, json));
}

TEST(Names, AreTheSameForTheSameStepOnly) {
  const auto a = booked_event(kPayout);
  const auto b = booked_event("other bytes");
  EXPECT_EQ(gate_entry_id(*a), gate_entry_id(*b));
  EXPECT_EQ(overflow_message_id(*a), overflow_message_id(*b));
  EXPECT_NE(conflict_id(*a), conflict_id(*b));
  b->attempts = 2;
  EXPECT_EQ(gate_entry_id(*a), gate_entry_id(*b));
  EXPECT_NE(retry_entry_id(*a), retry_entry_id(*b));
  EXPECT_NE(overflow_message_id(*a), overflow_message_id(*b));
  b->generation = 3;
  EXPECT_NE(gate_entry_id(*a), gate_entry_id(*b));
}

TEST(Planner, FollowsTheStore) {
  core::ReserveAnswer answer;
  answer.generation = 4;
  answer.slot = kT0 + 60s;
  answer.outcome = core::ReserveOutcome::at;
  EXPECT_EQ(std::get<Book>(plan_reserve(answer)).slot, kT0 + 60s);
  answer.outcome = core::ReserveOutcome::beyond_horizon;
  EXPECT_EQ(std::get<ToDeadLetters>(plan_reserve(answer)).reason, reasons::kBeyondHorizon);
  answer.outcome = core::ReserveOutcome::impossible;
  EXPECT_EQ(std::get<ToDeadLetters>(plan_reserve(answer)).reason, reasons::kCostExceedsLimit);
  answer.outcome = core::ReserveOutcome::conflict;
  EXPECT_EQ(std::get<ToDeadLetters>(plan_reserve(answer)).reason, reasons::kIdConflict);
  answer.outcome = core::ReserveOutcome::duplicate;
  EXPECT_TRUE(std::holds_alternative<Drop>(plan_reserve(answer)));
  answer.outcome = core::ReserveOutcome::now;
  answer.valid_until = kT0 + 61s;
  EXPECT_EQ(std::get<Release>(plan_reserve(answer)).valid_until, kT0 + 61s);
}

TEST(Planner, CountsFailuresAndNotDeferrals) {
  const auto event = booked_event(kPayout);
  event->attempts = 1;
  broker::SinkAnswer failed{broker::SinkVerdict::failed, {}, "HTTP 503"};
  EXPECT_TRUE(std::holds_alternative<Retry>(plan_sink(failed, *event, 0)));
  event->attempts = 2;
  EXPECT_EQ(std::get<ToDeadLetters>(plan_sink(failed, *event, 0)).reason, reasons::kAttemptsExhausted);
  const broker::SinkAnswer limited{broker::SinkVerdict::rate_limited, 5s, "HTTP 429"};
  event->deferrals = 0;
  EXPECT_EQ(std::get<Defer>(plan_sink(limited, *event, 0)).wait, 5s);
  failed.retry_after = 1h;
  event->attempts = 0;
  EXPECT_EQ(std::get<Retry>(plan_sink(failed, *event, 0)).wait, kDeferralMax);
}

TEST(Backoff, GrowsWithEveryFailure) {
  for (const char* id : {"a", "b", "pay_1"}) {
    for (int failures = 1; failures < 10; ++failures) {
      EXPECT_GE(retry_wait(id, failures), kRetryWaitMin / 2 * (1 << (failures - 1)));
      EXPECT_LE(retry_wait(id, failures), retry_wait(id, failures + 1));
    }
    EXPECT_LE(retry_wait(id, 1'000'000), kRetryWaitMax);
  }
  EXPECT_NE(retry_wait("a", 3), retry_wait("b", 3));
}

TEST(Backoff, LeavesASink429AloneLongerEachTime) {
  EXPECT_EQ(deferral_wait(0us, 0), 100ms);
  EXPECT_EQ(deferral_wait(-5s, 1), 200ms);
  EXPECT_EQ(deferral_wait(5s, 1), 5s);
  EXPECT_EQ(deferral_wait(24h, 0), kDeferralMax);
  EXPECT_EQ(deferral_wait(0us, 1000), kDeferralMax);
}

}  // namespace
}  // namespace dripgate::drip
