// Multiplexer: many calls on one connection, as bytes in and bytes out: no socket, no clock. Replies come in
// the order of the calls; a call whose deadline passed keeps its place, so that its late reply is discarded
// and never given to another.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "redis/failure.h"
#include "redis/reply_reader.h"

namespace dripgate::redis {

class Multiplexer {
 public:
  struct Bounds {
    std::size_t in_flight_max = kInFlightMax;
    std::size_t queued_bytes_max = kQueuedBytesMax;
  };

  Multiplexer(std::string node, Bounds bounds) : node_(std::move(node)), bounds_(bounds) {}

  /// Queues one encoded command. Over a bound: returns why; `done` is untouched.
  [[nodiscard]] std::optional<Failure> send(std::string_view wire, MonoTime deadline, Answered& done);
  /// Everything queued, into `out` (its old content goes). Calls taken count as sent, whatever comes of it.
  void take_output(std::string& out);
  /// Answers the calls whose replies are whole. Errors: corrupt (not RESP2, or a reply nobody asked for): the
  /// connection must go.
  [[nodiscard]] Result<void> received(std::string_view bytes);
  /// Answers the calls whose deadline has passed. The earliest deadline still waited for.
  [[nodiscard]] std::optional<MonoTime> expire(MonoTime now);
  /// The connection is gone: sent calls may have happened; queued ones wait for the next connection.
  void disconnected(std::string_view why);
  /// There will be no connection for now: queued calls end with `why`.
  void fail_queued(const Failure& why);

  /// Sent and unanswered by Redis, late ones included.
  [[nodiscard]] std::size_t in_flight() const { return sent_; }
  /// The reply that comes next is one that nobody waits for any more.
  [[nodiscard]] bool owes_late_reply() const { return sent_ > 0 && !calls_.front().done; }
  [[nodiscard]] bool idle() const { return calls_.empty(); }
  void rename(std::string node) { node_ = std::move(node); }

 private:
  struct Call {
    MonoTime deadline;
    std::size_t bytes = 0;  // in queued_, until it is taken
    Answered done;          // empty: its caller has been answered
  };

  void answer(Call& call, Outcome outcome);

  std::string node_;
  Bounds bounds_;
  std::deque<Call> calls_;  // the first sent_ are sent
  std::size_t sent_ = 0;
  std::string queued_;              // of the others, in order
  std::size_t expired_queued_ = 0;  // of the others, those already answered: not to be sent
  ReplyReader reader_;
};

}  // namespace dripgate::redis
