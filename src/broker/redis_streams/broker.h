// The broker on Redis 7: topics on Streams with one consumer group, timers on sorted sets, dead letters;
// shared by any number of processes. Every step is one command or one script, so a kill at any instant leaves
// each event in one place or in the next. Single-threaded: the client's loop. Bounds: options.h and the
// parts.
#pragma once

#include <memory>
#include <string>

#include "broker/claims.h"
#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/redis_streams/options.h"
#include "broker/timer.h"
#include "redis/client.h"

namespace dripgate::broker::redis_streams {

struct Context;
struct ClaimBounds;

/// One per process and client: a publish wakes the sources of the same Broker at once, those of other
/// processes by their polling (lane.h). Errors of all calls: as redis/client.h says; each may be repeated.
class Broker {
 public:
  Broker(redis::Client& client, Executor& executor, Options options);
  ~Broker();

  /// The same (topic, message id) published again within Options::message_id_ttl is one message. An empty
  /// message id is given one ("<topic>-<partition>-<entry>"), and published again it is another.
  [[nodiscard]] std::unique_ptr<Publisher> publisher(std::string topic);
  /// One source per topic at a time. `redeliveries` counts this process' lapses; a message that another
  /// process had before says at least 1.
  [[nodiscard]] std::unique_ptr<EventSource> source(std::string topic);
  [[nodiscard]] std::unique_ptr<Timer> timer(std::string stream);
  [[nodiscard]] std::unique_ptr<DeadLetters> dead_letters(std::string topic);
  /// For a timer elsewhere (claim_store.h).
  [[nodiscard]] std::unique_ptr<Claims> claims(const std::string& stream, const ClaimBounds& bounds);

 private:
  std::shared_ptr<Context> context_;  // the parts share it and may outlive this
};

}  // namespace dripgate::broker::redis_streams
