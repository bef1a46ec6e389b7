// Stream lint: see stream_lint.h.
#include "config/stream_lint.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

using core::Limit;

// Windows aligned to the epoch, ascending; calendar days have no fixed length.
std::vector<Duration> aligned_windows(const core::BookingPolicy& booking) {
  std::vector<Duration> windows;
  for (const Limit& limit : booking.limits) {
    if (limit.algorithm == core::Algorithm::fixed_window && !limit.zone) windows.push_back(limit.window);
  }
  std::ranges::sort(windows);
  return windows;
}

void warn_of_nesting(const PlacedStream& s, Report& report) {
  const auto windows = aligned_windows(*s.settings.stream->booking);
  for (std::size_t i = 1; i < windows.size(); ++i) {
    if (windows[i] % windows[i - 1] == Duration{0}) continue;
    report.warning(s.limits_at, "windows " + shown(windows[i - 1]) + " and " + shown(windows[i]) + " of " +
                                    s.name +
                                    " do not nest: bookings of a long backlog take longer and move more; "
                                    "let each window divide the next");
  }
}

void warn_of_short_delay(const PlacedStream& s, Report& report) {
  const core::BookingPolicy& booking = *s.settings.stream->booking;
  std::optional<Duration> shortest;
  for (const Limit& limit : booking.limits) {
    if (limit.algorithm != core::Algorithm::token_bucket)
      shortest = std::min(shortest.value_or(limit.window), limit.window);
  }
  if (!shortest || booking.max_delay >= *shortest) return;
  report.warning(s.max_delay_at, "maxDelay " + shown(booking.max_delay) + " of " + s.name +
                                     " is shorter than its window of " + shown(*shortest) +
                                     ": an event over the limit can be dead-lettered before the next window");
}

// The cost where it is the same for every event.
core::Units constant_cost(const core::Stream& stream) {
  if (!stream.cost) return 1;
  const std::string& text = stream.cost->text();
  core::Units cost = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), cost);
  return code == std::errc{} && end == text.data() + text.size() ? cost : 1;
}

void warn_of_impossible(const PlacedStream& s, Report& report) {
  const core::Units cost = constant_cost(*s.settings.stream);
  for (const Limit& limit : s.settings.stream->booking->limits) {
    if (cost <= limit.max_cost()) continue;
    report.warning(s.limits_at, "cost " + std::to_string(cost) + " is above the limit of " +
                                    std::to_string(limit.max_cost()) + ": every event of " + s.name +
                                    " is dead-lettered");
    return;
  }
}

// Of topics and subscriptions, as Pub/Sub documents it.
constexpr std::size_t kPubsubIdBytesMin = 3;

bool is_pubsub_id(std::string_view id) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return id.size() >= kPubsubIdBytesMin && is_letter(id.front()) && !id.starts_with("goog");
}

void check_pubsub_id(std::string_view id, std::string_view what, Mark at, Report& report) {
  if (id.empty() || is_pubsub_id(id)) return;
  report.error(at,
               std::string(what) + " " + in_quotes(id) +
                   " is no name of Pub/Sub; accepted: at least 3 characters, a letter first, not goog...");
}

void check_pubsub(const PlacedStream& s, const Config& config, Report& report) {
  const core::Stream& stream = *s.settings.stream;
  if (!std::holds_alternative<RedisStore>(config.store)) {
    report.error(s.source_at, "the source of " + s.name +
                                  " is on Pub/Sub, its bookings need a store that processes share; accepted: "
                                  "store: { redis: ... }");
  }
  if (!config.gcp) {
    report.error(s.source_at,
                 "the source of " + s.name + " is on Pub/Sub; accepted beside it: gcp: { project: ID }");
  }
  check_pubsub_id(s.settings.source_topic, "subscription", s.source_at, report);
  check_pubsub_id(s.settings.pubsub->overflow_subscription, "overflowSubscription", s.source_at, report);
  check_pubsub_id(stream.overflow_topic, "overflowTopic", s.overflow_at, report);
  check_pubsub_id(stream.dead_letter_topic, "deadLetterTopic", s.dead_letter_at, report);
  if (const auto* topic = std::get_if<TopicDelivery>(&s.settings.deliver))
    check_pubsub_id(topic->topic, "deliver topic", s.deliver_at, report);
}

}  // namespace

void check_sources(const std::vector<PlacedStream>& streams, const Config& config, Report& report) {
  const bool redis = std::holds_alternative<RedisStore>(config.store);
  for (const PlacedStream& s : streams) {
    if (s.settings.pubsub && !s.settings.source_topic.empty()) check_pubsub(s, config, report);
    if (s.settings.source_topic.empty() || s.settings.pubsub || s.source_is_redis == redis) continue;
    const std::string topic = "topics of " + s.name;
    report.error(s.source_at, redis ? topic +
                                          " live in the store, which is Redis; accepted: source: { redis: " +
                                          s.settings.source_topic + " }"
                                    : topic +
                                          " would live in Redis, but the store is another; accepted: source: "
                                          "{ embedded: " +
                                          s.settings.source_topic + " }, or store: { redis: ... }");
  }
}

void check_timers(const std::vector<PlacedStream>& streams, const Config& config, Report& report) {
  std::map<std::string, const PlacedStream*> owners;
  for (const PlacedStream& s : streams) {
    if (!s.settings.cloud_tasks) continue;
    if (!std::holds_alternative<RedisStore>(config.store)) {
      report.error(s.timer_at, "the timer of " + s.name +
                                   " is on Cloud Tasks, its bookings need a store that processes share; "
                                   "accepted: store: { redis: ... }");
    }
    if (!config.gcp) {
      report.error(s.timer_at,
                   "the timer of " + s.name + " is on Cloud Tasks; accepted beside it: gcp: { project: ID }");
    }
    for (const std::string& queue : s.settings.cloud_tasks->queues) {
      const auto [owner, first] = owners.emplace(s.settings.cloud_tasks->location + "/" + queue, &s);
      if (first || owner->second == &s) continue;
      report.warning(s.timer_at, "queue " + in_quotes(queue) + " is also that of " + owner->second->name +
                                     ": while one of them is paused, the queue slows down for both");
    }
  }
}

void lint_streams(const std::vector<PlacedStream>& streams, Report& report) {
  for (const PlacedStream& stream : streams) {
    warn_of_nesting(stream, report);
    warn_of_short_delay(stream, report);
    warn_of_impossible(stream, report);
  }
}

}  // namespace dripgate::config
