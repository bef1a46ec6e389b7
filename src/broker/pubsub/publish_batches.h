// PublishBatches: which messages of one topic go out together, and when. What comes while nothing is on its
// way goes at once; behind that, batches grow until one is full or its first message has waited
// kPublishLinger. Messages of one ordering key go one batch after the other. Pure: no clock, no executor.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

// Bounds of a request, as documented, with room for what is around the messages.
inline constexpr std::size_t kPublishMessagesMax = 1000;
inline constexpr std::size_t kPublishBytesMax = 9'000'000;
inline constexpr Duration kPublishLinger = 10ms;
/// Requests of one topic without an ordering key that are on their way.
inline constexpr std::size_t kPublishesInFlight = 8;
/// All requests of one topic that are on their way.
inline constexpr std::size_t kOrderedPublishesInFlight = 64;
/// Messages of one topic that wait or are on their way; more are refused (full, transient).
inline constexpr std::size_t kPublishQueueMax = 65'536;

struct PublishBatch {
  std::string ordering_key;
  std::vector<WireMessage> messages;
  std::vector<Done<void>> done;      // of each message
  int tries = 0;                     // of the request on its way
  std::optional<std::size_t> alone;  // one message may be at fault for all: which of them goes now, alone
};

class PublishBatches {
 public:
  /// False: full; nothing was taken.
  [[nodiscard]] bool has_room() const { return held_ < kPublishQueueMax; }
  void add(WireMessage message, Done<void> done);
  /// The next request that may go now.
  std::optional<PublishBatch> next();
  /// Everything that waits now has waited long enough.
  void linger_over() { due_ = free_.waiting.size(); }
  /// A request is over, for good or ill.
  void ended(const PublishBatch& batch);

  [[nodiscard]] std::size_t waiting() const { return free_.waiting.size(); }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

 private:
  struct Waiting {
    WireMessage message;
    Done<void> done;
    std::size_t bytes = 0;
  };
  struct Lane {
    std::deque<Waiting> waiting;
    std::size_t bytes = 0;
    std::size_t in_flight = 0;
  };

  [[nodiscard]] bool may_go(const Lane& free) const;
  PublishBatch take(Lane& lane);

  Lane free_;                          // without an ordering key
  std::map<std::string, Lane> keyed_;  // no longer than something waits or is on its way
  std::deque<std::string> ready_;      // keys of which something waits and nothing is on its way
  std::size_t due_ = 0;                // of free_: the first so many have lingered
  std::size_t in_flight_ = 0;
  std::size_t held_ = 0;
};

}  // namespace dripgate::broker::pubsub
