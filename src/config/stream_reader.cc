// Stream reader: see stream_reader.h.
#include "config/stream_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "config/delivery_reader.h"
#include "config/fields.h"
#include "config/identity.h"
#include "config/limit_reader.h"
#include "config/scalars.h"
#include "config/template_reader.h"
#include "config/timer_reader.h"
#include "config/topics.h"

namespace dripgate::config {
namespace {

constexpr std::int64_t kOutstandingMessagesMax = 100'000;
constexpr std::int64_t kOutstandingBytesMax = std::int64_t{16} << 30;
constexpr Duration kRetentionMax = std::chrono::hours{24 * 366};

constexpr auto kStreamKeys = joined_keys(
    std::array<std::string_view, 17>{"id", "source", "eventId", "key", "cost", "retryCost", "spread",
                                     "maxDelay", "timer", "deliver", "overflowTopic", "deadLetterTopic",
                                     "deadLetterRetention", "idRetention", "onMissingKey",
                                     "maxOutstandingMessages", "maxOutstandingBytes"},
    kLimitKeys);
constexpr std::array<std::string_view, 3> kSourceKinds{"embedded", "redis", "pubsub"};
constexpr std::array<std::string_view, 2> kPubsubKeys{"overflowSubscription", "streams"};
constexpr auto kSourceKeys =
    joined_keys(kSourceKinds, joined_keys(std::array<std::string_view, 1>{"ordering"}, kPubsubKeys));
constexpr std::int64_t kPubsubStreamsMax = 16;
constexpr std::string_view kSourceForms =
    "such as source: { embedded: payouts }, or { redis: payouts } or { pubsub: SUBSCRIPTION } with store: { "
    "redis: ... }";

constexpr std::array kSpreads{Word{"even", core::Spread::even}, Word{"start", core::Spread::start}};
constexpr std::array kMissingKeys{Word{"defaultKey", core::StreamMissingKey::default_key},
                                  Word{"deadLetter", core::StreamMissingKey::dead_letter}};

void read_duration_into(const Fields& fields, std::string_view key, Duration max, Duration& target,
                        Context& context) {
  const Node* node = fields.find(key);
  const auto value = node ? read_duration(*node, key, max, context.report) : std::nullopt;
  target = value.value_or(target);
}

// Beside a subscription only.
void read_pubsub(const Fields& source, PlacedStream& placed, Context& context) {
  if (!placed.settings.pubsub) {
    for (const std::string_view key : kPubsubKeys) {
      if (!source.mentions(key)) continue;
      context.report.error(source.mark(key),
                           std::string(key) + " belongs to source: { pubsub: SUBSCRIPTION }");
    }
    return;
  }
  if (const Node* node = source.find("overflowSubscription")) {
    placed.settings.pubsub->overflow_subscription = read_topic(*node, "overflowSubscription", context.report);
  }
  if (const Node* node = source.find("streams")) {
    const auto count = read_integer(*node, "streams", {1, kPubsubStreamsMax}, context.report);
    placed.settings.pubsub->streams = static_cast<int>(count.value_or(1));
  }
}

void read_source(const Fields& fields, PlacedStream& placed, Context& context) {
  const Node* node = fields.require("source", kSourceForms);
  if (node == nullptr) return;
  const Fields source(*node, "source of " + fields.what(), kSourceKeys, context.report);
  if (!source.is_map()) return;
  std::string_view kind;
  for (const std::string_view key : kSourceKinds) {
    const Node* topic = source.find(key);
    if (topic == nullptr) continue;
    if (!kind.empty()) {
      context.report.error(source.mark(key), source.what() + " has both " + std::string(kind) + " and " +
                                                 std::string(key) + "; keep one");
      break;
    }
    kind = key;
    placed.settings.source_topic = read_topic(*topic, "source", context.report);
    placed.source_at = topic->at;
    placed.source_is_redis = key == "redis";
    if (key == "pubsub") placed.settings.pubsub.emplace();
  }
  if (!source.mentions_any(kSourceKinds)) {
    context.report.error(source.at(), source.what() + " names no topic; " + std::string(kSourceForms));
  }
  read_pubsub(source, placed, context);
  const Node* ordering = source.find("ordering");
  if (ordering && read_flag(*ordering, "ordering", context.report).value_or(false)) {
    context.report.warning(source.mark("ordering"), "the source of " + fields.what() +
                                                        " keeps order, the drip does not: an event that "
                                                        "waits is passed by later ones");
  }
}

void read_topics(const Fields& fields, PlacedStream& placed, core::Stream& stream, Context& context) {
  if (!stream.id.empty()) {
    stream.overflow_topic = stream.id + "-overflow";
    stream.dead_letter_topic = stream.id + "-dlq";
  }
  placed.overflow_at = fields.mark("overflowTopic");
  placed.dead_letter_at = fields.mark("deadLetterTopic");
  if (const Node* node = fields.find("overflowTopic")) {
    stream.overflow_topic = read_topic(*node, "overflowTopic", context.report);
  }
  if (const Node* node = fields.find("deadLetterTopic")) {
    stream.dead_letter_topic = read_topic(*node, "deadLetterTopic", context.report);
  }
  auto& pubsub = placed.settings.pubsub;
  if (pubsub && pubsub->overflow_subscription.empty()) pubsub->overflow_subscription = stream.overflow_topic;
}

// A number is the cost itself, a text is a template over the event.
void read_cost(const Node& node, core::Stream& stream, Context& context) {
  const bool number = node.kind == Node::Kind::scalar && node.text.find('{') == std::string::npos;
  if (number && !read_integer(node, "cost", {1, kLimitUnitsMax}, context.report)) return;
  stream.cost = read_template(node, "cost", context);
}

void read_templates(const Fields& fields, core::Stream& stream, Context& context) {
  if (const Node* node = fields.require("key", "such as key: \"merchant_{merchant_id}\"")) {
    if (auto key = read_template(*node, "key", context)) {
      if (key->names().empty()) {
        context.report.warning(node->at,
                               "key names nothing of the event, such as {merchant_id}: all events of " +
                                   fields.what() + " share one counter");
      }
      stream.key = *std::move(key);
    }
  }
  if (const Node* node = fields.find("eventId")) {
    stream.event_id = read_template(*node, "eventId", context);
    if (stream.event_id && stream.event_id->names().empty()) {
      context.report.error(node->at, "eventId must name what tells events apart, such as \"{payoutId}\"");
    }
  }
  if (const Node* node = fields.find("cost")) read_cost(*node, stream, context);
}

void read_booking(const Fields& fields, PlacedStream& placed, core::Stream& stream, Context& context) {
  auto booking = std::make_shared<core::BookingPolicy>();
  booking->limits = read_limits(fields, context);
  if (const Node* node = fields.find("spread")) {
    booking->spread = read_word(*node, "spread", kSpreads, context.report).value_or(core::Spread::even);
  }
  read_duration_into(fields, "maxDelay", kHorizonMax, booking->max_delay, context);
  read_duration_into(fields, "idRetention", kRetentionMax, booking->id_retention, context);
  placed.max_delay_at = fields.mark("maxDelay");
  if (placed.settings.cloud_tasks) fit_to_cloud_tasks(fields, *booking, context);
  placed.limits_at = fields.mark(fields.find("limits") != nullptr ? "limits" : "limit");
  stream.booking = std::move(booking);
}

void read_rest(const Fields& fields, StreamSettings& settings, core::Stream& stream, Context& context) {
  Report& report = context.report;
  read_duration_into(fields, "deadLetterRetention", kRetentionMax, stream.dead_letter_retention, context);
  if (const Node* node = fields.find("onMissingKey")) {
    const auto word = read_word(*node, "onMissingKey", kMissingKeys, report);
    stream.on_missing_key = word.value_or(stream.on_missing_key);
  }
  if (const Node* node = fields.find("retryCost")) {
    stream.retries_cost = read_integer(*node, "retryCost", {0, 1}, report).value_or(1) != 0;
  }
  if (const Node* node = fields.find("maxOutstandingMessages")) {
    const auto count = read_integer(*node, "maxOutstandingMessages", {1, kOutstandingMessagesMax}, report);
    settings.max_outstanding_messages = static_cast<std::size_t>(count.value_or(1));
  }
  if (const Node* node = fields.find("maxOutstandingBytes")) {
    const Range range{static_cast<std::int64_t>(kLineBytesMax), kOutstandingBytesMax};
    const auto bytes = read_bytes(*node, "maxOutstandingBytes", range, report);
    settings.max_outstanding_bytes = static_cast<std::size_t>(bytes.value_or(range.min));
  }
}

PlacedStream read_stream(const Fields& fields, Mark at, Context& context) {
  PlacedStream placed;
  placed.name = fields.what();
  placed.at = at;
  auto stream = std::make_shared<core::Stream>();
  if (const Node* id = fields.require("id", "such as id: payouts")) {
    stream->id = read_name(*id, "id", context.report).value_or("");
  }
  read_source(fields, placed, context);
  read_templates(fields, *stream, context);
  placed.timer_at = fields.mark("timer");
  placed.settings.cloud_tasks = read_timer(fields, context);
  read_booking(fields, placed, *stream, context);
  read_topics(fields, placed, *stream, context);
  placed.deliver_at = fields.mark("deliver");
  const auto deliver = read_delivery(fields, context);
  placed.settings.deliver = deliver.delivery;
  stream->max_attempts = deliver.max_attempts;
  read_rest(fields, placed.settings, *stream, context);
  placed.settings.stream = std::move(stream);
  return placed;
}

}  // namespace

std::vector<PlacedStream> read_streams(const Node& list, Context& context) {
  std::vector<PlacedStream> streams;
  Unique ids("stream id", context.report);
  std::size_t number = 0;
  for (const Node& item : list_items(list, "streams", kStreamsMax, context.report)) {
    const Fields fields(item, label("stream", item, ++number), kStreamKeys, context.report);
    if (!fields.is_map()) continue;
    streams.push_back(read_stream(fields, item.at, context));
    const std::string& id = streams.back().settings.stream->id;
    if (!id.empty()) ids.add(id, fields.mark("id"));
  }
  return streams;
}

}  // namespace dripgate::config
