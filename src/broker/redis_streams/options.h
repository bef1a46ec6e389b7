// Options of the adapters on Redis Streams, and the bounds that they share.
#pragma once

#include <cstddef>
#include <string>

#include "base/limits.h"
#include "base/time.h"

namespace dripgate::broker::redis_streams {

/// Hash tags of one topic; a cluster spreads them over its primaries.
inline constexpr std::size_t kPartitionsMax = 64;
/// Calls of one script that go out together: Redis serves others between two of them ...
inline constexpr std::size_t kBatchCalls = 128;
/// ... and their bytes, unless it is one call.
inline constexpr std::size_t kBatchBytes = 256u << 10;
/// Of one script and partition, unanswered. What comes meanwhile queues, so that batches grow with the load.
inline constexpr std::size_t kBatchesInFlight = 2;
/// Calls of one script and partition that wait for their batch; more are refused (full, transient).
inline constexpr std::size_t kQueuedCallsMax = 65'536;

/// The same in all processes, except `consumer`.
struct Options {
  std::string prefix{};                // of every key
  std::size_t partitions = 1;          // of every topic and timer, at most kPartitionsMax; may only grow
  std::string group = "dripgate";      // the one consumer group of every topic
  std::string consumer{};              // of this process: no two that run at once share it
  Duration call_timeout = 1s;          // of each call: an fsync per write and large batches take their time
  Duration handling_deadline = 10min;  // a delivery unsettled for so long goes to somebody else
  Duration message_id_ttl = 2min;      // how long a topic knows an id: beyond all repeats of one publish
};

}  // namespace dripgate::broker::redis_streams
