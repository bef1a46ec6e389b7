// Observer: what the drip tells of itself while it works: verdicts for waiting ingest calls, counts for
// metrics, lines for the demo. Called on the drip's executor, inside the turn (SQLite: before its commit).
// Calls must not block.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/sink.h"
#include "core/stream.h"

namespace dripgate::drip {

/// What the pipeline decided about one event from the source.
struct EventVerdict {
  enum class Kind { now, scheduled, dead_letter, duplicate, conflict };
  Kind kind = Kind::now;
  std::string message_id;  // the source's
  std::string event_id;
  std::string key;               // as the stream's template renders it
  std::optional<WallTime> slot;  // now: the moment of release
  std::string reason;            // dead_letter: one of drip/reasons.h
};

/// The word for it in answers, metrics and logs.
[[nodiscard]] constexpr std::string_view to_string(EventVerdict::Kind kind) {
  constexpr std::array<std::string_view, 5> kWords{"now", "scheduled", "dead_letter", "duplicate",
                                                   "conflict"};
  return kWords[static_cast<std::size_t>(kind)];
}

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_verdict(const core::Stream&, const EventVerdict&) {}
  /// The store let an event go: immediately (late = 0) or dispatched.
  virtual void on_release(const core::Stream&, std::string_view /*key*/, std::string_view /*event_id*/,
                          WallTime /*released*/, Duration /*late*/) {}
  virtual void on_rebook(const core::Stream&, std::string_view /*key*/, WallTime /*slot*/) {}
  virtual void on_delivery(const core::Stream&, std::string_view /*event_id*/, const broker::SinkAnswer&) {}
  virtual void on_dead_letter(const core::Stream&, std::string_view /*event_id*/,
                              std::string_view /*reason*/) {}
  virtual void on_missing_key(const core::Stream&) {}
  virtual void on_redelivery(const core::Stream&) {}
  /// A port failed; the event stays where it is and comes again.
  virtual void on_port_error(const core::Stream&, std::string_view /*port*/, const Error&) {}
};

}  // namespace dripgate::drip
