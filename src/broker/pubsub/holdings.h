// Holdings: what of a subscription this process has in its hands: handed out, waiting for room, or given back
// and expected again. One entry and token per message, whatever its deliveries; a later delivery brings a
// newer ack id. No clock, no executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "broker/event_source.h"

namespace dripgate::broker::pubsub {

struct Held {
  std::string ack_id;
  std::string message_id;  // Pub/Sub's own
  std::size_t bytes = 0;
  int redeliveries = 0;
  int lapses = 0;           // in a row
  bool receipting = false;  // exactly-once: not ours yet
  bool out = false;         // handed out
  bool acking = false;
  bool lapsed = false;   // given back
  bool counted = false;  // by flow control; not: given back, or over its handling deadline
};

class Holdings {
 public:
  explicit Holdings(FlowControl flow = {}) : flow_(flow) {}

  /// Null: it is not held.
  [[nodiscard]] Held* find(std::uint64_t token);
  /// 0: it is not held.
  [[nodiscard]] std::uint64_t token_of(const std::string& message_id) const;
  std::uint64_t take(Held held);
  void drop(std::uint64_t token);

  void hand_out(std::uint64_t token);
  /// Over its handling deadline: it comes again without us.
  void expire(std::uint64_t token);
  /// Given back; at most kLapsedMax (leases.h) are remembered. Answers how often in a row.
  int lapse(std::uint64_t token);
  /// What had lapsed is here again.
  void again(std::uint64_t token, std::string ack_id, int redeliveries);

  /// One message larger than the bound still passes.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    if (out_ == 0) return true;
    return out_ < flow_.max_outstanding_messages && out_bytes_ + bytes <= flow_.max_outstanding_bytes;
  }
  /// With what waits, what is here stays below the bounds.
  [[nodiscard]] bool may_read() const {
    return all_ < flow_.max_outstanding_messages && all_bytes_ < flow_.max_outstanding_bytes;
  }

 private:
  void count(Held& held);
  void uncount(Held& held);

  FlowControl flow_;
  std::unordered_map<std::uint64_t, Held> held_;
  std::unordered_map<std::string, std::uint64_t> tokens_;  // by message id
  std::deque<std::uint64_t> lapsed_;                       // the oldest first; some are here again or gone
  std::uint64_t last_token_ = 0;
  std::size_t out_ = 0;  // counted and handed out
  std::size_t out_bytes_ = 0;
  std::size_t all_ = 0;  // counted
  std::size_t all_bytes_ = 0;
};

}  // namespace dripgate::broker::pubsub
