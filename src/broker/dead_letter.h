// The port to dead letters: events parked for a person, with the reason and their original bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/message.h"

namespace dripgate::broker {

struct DeadLetter {
  std::uint64_t sequence = 0;  // given by the backend, ascending
  std::string event_id;
  std::string key;     // as the stream's template renders it; empty: it could not
  std::string reason;  // "beyond_horizon", "cost_exceeds_limit", "malformed_payload", ...
  std::string detail;  // for a person: the slot it would have had, the sink's last answer
  Message message;     // original bytes and attributes
  WallTime first_received;
  WallTime dead_at;
  int attempts = 0;
  std::uint32_t generation = 0;  // of the event record, for a replay
};

struct DeadLetterPage {
  std::vector<DeadLetter> letters;
  std::uint64_t total = 0;
};

class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  /// The same event_id, generation and body again is one letter: other bytes are never swallowed.
  virtual void add(DeadLetter letter, Done<void> done) = 0;
  /// At most `count` letters with sequence > after, ascending.
  virtual void list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) = 0;
  virtual void find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) = 0;
  virtual void remove(std::uint64_t sequence, Done<bool> done) = 0;
  /// Removes letters older than `before`; answers how many (at most a bounded batch per call).
  virtual void purge(WallTime before, Done<std::uint64_t> done) = 0;
};

}  // namespace dripgate::broker
