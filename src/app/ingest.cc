#include "app/ingest.h"

#include <utility>

#include <fmt/format.h>

#include "broker/attribute_names.h"
#include "drip/names.h"

namespace dripgate::app {
namespace {

std::size_t bytes_of(const server::IngestEvent& event) {
  std::size_t bytes = event.body.size() + event.id.size();
  for (const auto& [name, value] : event.attributes) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace

Ingest::Ingest(runtime::Loop& loop, Clock& clock, Engine& engine, VerdictBoard& board)
    : loop_(loop), clock_(clock), engine_(engine), board_(board) {
  std::random_device entropy;
  std::seed_seq seed{entropy(), entropy(), entropy(), entropy(), entropy(), entropy()};
  random_.seed(seed);
}

Result<Ingest::Weight> Ingest::enter(const std::vector<server::IngestEvent>& events) {
  Weight weight{.events = events.size()};
  for (const server::IngestEvent& event : events) weight.bytes += bytes_of(event);
  const std::size_t waiting = events_waiting_.fetch_add(weight.events) + weight.events;
  const std::size_t bytes = bytes_waiting_.fetch_add(weight.bytes) + weight.bytes;
  if (waiting <= kIngestEventsWaitingMax && bytes <= kIngestBytesWaitingMax) return weight;
  leave(weight);
  return fail(ErrorCode::unavailable,
              fmt::format("{} events of {} bytes wait to be written, at most {} of {} bytes: try again later",
                          waiting, bytes, kIngestEventsWaitingMax, kIngestBytesWaitingMax),
              true);
}

void Ingest::leave(Weight weight) {
  events_waiting_.fetch_sub(weight.events);
  bytes_waiting_.fetch_sub(weight.bytes);
}

std::string Ingest::made_id() {
  return fmt::format("{:012x}{:016x}", to_us(clock_.now()) / 1000, random_());
}

Ingest::Identity Ingest::identify(const core::Stream& stream, server::IngestEvent& event,
                                  const broker::Message& message) {
  drip::EventFacts facts(message, json_);
  std::string event_id =
      drip::event_id(event.id, stream, [&facts](std::string_view name) { return facts.find(name); });
  if (event_id.empty()) event_id = event.id = event.fallback_id;
  if (event_id.empty()) {
    event_id = made_id();
    return {event_id, event_id};
  }
  // The same event sent twice is one message; the same id with another body is another message, so that the
  // pipeline sees the conflict instead of the topic hiding it.
  return {event_id, fmt::format("{}:{:016x}", event_id, drip::body_digest(message.body))};
}

void Ingest::append(StreamLine& line, std::vector<server::IngestEvent> events,
                    Done<std::vector<server::IngestAnswer>> done) {
  const core::StreamPtr stream = line.stream();
  if (!engine_.has_room()) return done(fail(ErrorCode::full, kDiskFull, true));
  if (events.empty()) return done(std::vector<server::IngestAnswer>{});

  auto call = std::make_shared<IngestCall>();
  call->stream = stream->id;
  call->done = std::move(done);
  call->waiting = engine_.decides_here() && !engine_.paused(stream->id);
  call->answers.resize(events.size());
  call->message_ids.resize(events.size());
  std::vector<broker::Message> messages;
  messages.reserve(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    messages.push_back(message_of(*stream, std::move(events[i]), *call, i));
  }
  board_.enter(call);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    line.ingest().publish(std::move(messages[i]), [this, call, i](Result<void> published) {
      board_.published(call, i, std::move(published), engine_);
    });
  }
  loop_.post_after_real(kIngestVerdictWait, [this, call] { board_.expire(call); });
}

broker::Message Ingest::message_of(const core::Stream& stream, server::IngestEvent event, IngestCall& call,
                                   std::size_t index) {
  broker::Message message{.id = {},
                          .body = std::move(event.body),
                          .attributes = std::move(event.attributes),
                          .published = clock_.now()};
  Identity identity = identify(stream, event, message);
  if (!event.id.empty()) broker::set(message.attributes, broker::kGivenIdAttribute, event.id);
  message.id = identity.message_id;
  server::IngestAnswer& answer = call.answers[index];
  answer.id = std::move(identity.event_id);
  answer.accepted_only = true;
  call.message_ids[index] = std::move(identity.message_id);
  return message;
}

}  // namespace dripgate::app
