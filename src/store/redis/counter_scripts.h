// CounterScripts: one call of a counter script, from charges to what was heard. Knows the scripts' arguments
// and replies (lua/*.lua), the clocks of the nodes and the key prefix; not requests of several tags, nor
// coalescing. Used by counter_store, counter_groups and coalescer. Single-threaded.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/guard.h"
#include "core/counter.h"
#include "redis/client.h"
#include "store/counter_store.h"
#include "store/redis/counter_reply.h"
#include "store/redis/node_clock.h"
#include "store/redis/stores.h"

namespace dripgate::store {

/// What a call found, and from which core decides again.
struct Heard {
  WallTime now;                      // the store's time of the call
  std::optional<core::Units> taken;  // requests admitted; empty where the caller finds it from the states
  std::vector<core::CounterState> states;  // per charge, before the call
  std::vector<std::string> texts;          // the same as Redis keeps them (a long log: its digest)
};

/// Equal requests of one charge on a bucket under common numbers.
struct BucketCall {
  const Charge* charge = nullptr;
  core::Units requests = 1;
};

/// A refund of charges of one tag.
struct GroupRefund {
  Charges charges;
  WallTime consumed_at;
  std::string request_id;
  /// To undo a request that another tag refused: the counters' texts before it, one per charge. Else empty.
  std::vector<std::string> before;
};

class CounterScripts {
 public:
  CounterScripts(redis::Client& client, RedisStoreOptions options);

  /// Which keys may be in one call: those with the same tag. Empty for all where there is no cluster.
  [[nodiscard]] std::string_view tag_of(const std::string& key) const;
  [[nodiscard]] std::size_t shard(const std::string& key) const { return client_.shard(redis_key(key)); }
  [[nodiscard]] redis::Client& client() { return client_; }

  /// Charges of one tag, whose costs are joint per key (counter_decisions.h). `requests`: 1, of a single
  /// charge with a cost also more, or 0 (takes nothing, but changed limits count from now on).
  void consume(std::shared_ptr<const Charges> charges, core::Units requests, Done<Heard> done);
  void peek(std::shared_ptr<const Charges> charges, Done<Heard> done);
  void refund(std::shared_ptr<const GroupRefund> refund, Done<bool> done);
  void reset(const std::string& key, Done<void> done);

  /// Fast paths over different keys of one tag, all buckets under common numbers (counter_decisions.h).
  /// `each`: every key has requests of its own. `all`: one request that takes every charge or none. A heard
  /// text that is not under the charge's numbers means that this key (`all`: the request) was left alone: ask
  /// `consume`. The charges need not outlive the call.
  enum class Mode : std::uint8_t { each, all };
  void consume_buckets(std::span<const BucketCall> calls, Mode mode, Done<Heard> done);

 private:
  struct Called;

  [[nodiscard]] std::string redis_key(const std::string& key) const { return options_.key_prefix + key; }
  [[nodiscard]] std::string record_key(const GroupRefund& refund) const;
  [[nodiscard]] Called called(const std::string& key) const;
  [[nodiscard]] Result<Heard> hear(Result<CounterReply> reply, const Called& called);
  void run(const redis::Script& script, std::shared_ptr<const Charges> charges, core::Units requests,
           std::optional<WallTime> told, Done<Heard> done);
  void consume_bucket(const BucketCall& call, Done<Heard> done);

  redis::Client& client_;
  RedisStoreOptions options_;
  NodeClocks clocks_;
  Guard guard_;  // last: what is under way when this ends is never heard
};

}  // namespace dripgate::store
