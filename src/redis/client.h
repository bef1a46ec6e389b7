// The face of a Redis deployment (one server, Sentinel, Cluster) for everything that asks it something. One
// connection per node, pipelined: what queues while a write is in flight goes out with the next one. Calls
// are never sent again after a timeout, since Redis may have done them; they are after a redirect or a reply
// that says nothing was done (MOVED, ASK, TRYAGAIN, NOSCRIPT). Single-threaded: the loop it was made on.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "redis/reply.h"
#include "redis/script.h"

namespace dripgate::redis {

/// The words of one command, copied before the call returns.
using Words = std::span<const std::string_view>;

struct NodeReply {
  std::string node;  // "host:port"
  Result<Reply> reply;
};

class Client {
 public:
  virtual ~Client() = default;

  /// One command to the primary that owns `key`'s slot. Errors of all calls: timed_out (no answer in time: it
  /// may have happened), unavailable (not connected, LOADING, CLUSTERDOWN, READONLY, NOREPLICAS, ...: it did
  /// not happen), full (OOM, or too much in flight), invalid_argument (NOPERM, WRONGTYPE, a script's own
  /// error, CROSSSLOT), cancelled (closing).
  virtual void command(std::string_view key, Words words, Done<Reply> done) = 0;
  /// EVALSHA; where the node does not know the script, EVAL once. `keys` (at least one) share a hash tag.
  virtual void run(const Script& script, Words keys, Words arguments, Done<Reply> done) = 0;
  /// The same command to every primary, for checks at start and for the capacity tool.
  virtual void each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) = 0;

  /// Which primary owns `key` now: a small number, the same for the same primary as long as the set of
  /// primaries is. 0 on one server.
  [[nodiscard]] virtual std::size_t shard(std::string_view key) const = 0;
  [[nodiscard]] virtual std::size_t shards() const = 0;
  /// Runs `task` once no write to that shard's connection is in flight: now, or when the current one ends.
  virtual void when_writable(std::size_t shard, Task task) = 0;
};

}  // namespace dripgate::redis
