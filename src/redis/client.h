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
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "redis/reply.h"
#include "redis/script.h"

namespace dripgate::redis {

/// The words of one command, copied before the call returns.
using Words = std::span<const std::string_view>;

/// A call's timeout where the client's own (Options::timeout) holds.
inline constexpr Duration kClientTimeout{0};

struct NodeReply {
  std::string node;  // "host:port"
  Result<Reply> reply;
};

class Client {
 public:
  virtual ~Client() = default;

  /// One command to the primary that owns `key`'s slot, answered within `timeout`. What blocks in Redis
  /// (XREADGROUP BLOCK) holds up all that follows on its connection: give it a client of its own.
  /// Errors of all calls: timed_out (no answer in time: it may have happened), unavailable (not connected,
  /// not sent in time, LOADING, CLUSTERDOWN, READONLY, NOREPLICAS, BUSY, ...: it did not happen), full (OOM,
  /// or too much in flight), invalid_argument (NOPERM, WRONGPASS, WRONGTYPE, all three transient: the
  /// deployment is at fault; a script's own error, CROSSSLOT), conflict (BUSYGROUP), not_found (NOGROUP),
  /// cancelled (closing, and not sent). `detail` names the node and ends with Redis' own words.
  virtual void command(std::string_view key, Words words, Duration timeout, Done<Reply> done) = 0;
  /// EVALSHA; where the node does not know the script, EVAL once. `keys` (at least one) share a hash tag.
  virtual void run(const Script& script, Words keys, Words arguments, Duration timeout, Done<Reply> done) = 0;
  void command(std::string_view key, Words words, Done<Reply> done) {
    command(key, words, kClientTimeout, std::move(done));
  }
  void run(const Script& script, Words keys, Words arguments, Done<Reply> done) {
    run(script, keys, arguments, kClientTimeout, std::move(done));
  }
  /// The same command to every primary, for checks at start and for the capacity tool. Waits for connections
  /// that are being made; bounded by kEachPrimaryTimeout (options.h).
  virtual void each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) = 0;

  /// Which primary owns `key` now: a small number, kept by a primary and by the one that takes its place. 0
  /// on one server.
  [[nodiscard]] virtual std::size_t shard(std::string_view key) const = 0;
  [[nodiscard]] virtual std::size_t shards() const = 0;
  /// Runs `task` right before the next write to that shard's connection: at the end of this turn of the loop,
  /// or when the write in flight ends (at the latest after Options::timeout: a write that hangs must not keep
  /// what waits from its deadline). What it sends goes out with that write.
  virtual void when_writable(std::size_t shard, Task task) = 0;
};

}  // namespace dripgate::redis
