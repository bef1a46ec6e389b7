// FailoverStore: the gate's checks, answered by the store while it answers, and by each policy's failure mode
// while its shard does not. In front of the shared CounterStore; counters of this process in LocalCounters.
//
// A shard fails by timing out, by any error but invalid_argument, or by its open breaker; a counter that
// cannot be read (corrupt, newer_version) fails its own request and opens nothing. Then `closed` refuses as
// unavailable, `open` allows, `local` decides by this process' share. Charges on other shards are asked as
// always. All charges of a request allow or nothing stays spent: what was taken before a refusal is given
// back once, on the store by request id; what cannot be given back (a call that timed out may have counted;
// the shard went away) stays spent.
//
// One per I/O thread, and single-threaded; LocalCounters are shared by all of a process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/guard.h"
#include "store/failover/local_counters.h"
#include "store/failover/shard_breakers.h"
#include "store/guarded_store.h"

namespace dripgate::store {

/// Which shard owns a counter key (redis::Client::shard).
using ShardOf = std::function<std::size_t(std::string_view key)>;

/// When the store behind it answers.
enum class StoreAnswers : std::uint8_t {
  in_time,  // within its own deadline, on the executor's thread
  at_once,  // always within the call, and an error has taken nothing: a memory store
};

class FailoverStore final : public GuardedStore {
 public:
  /// `clock` must not step (LocalCounters). All outlive this. Destroyed: requests under way are never
  /// answered.
  FailoverStore(CounterStore& store, ShardOf shard_of, LocalCounters& local, Executor& executor,
                const Clock& clock, core::BreakerSettings settings = {},
                StoreAnswers answers = StoreAnswers::in_time);

  /// Groups of one shard are asked in turn, in request order; while a breaker is open its charges are
  /// answered within the call.
  void consume(GuardedCharges charges, Done<core::Decision> done) override;
  void peek(GuardedCharges charges, Done<core::Decision> done) override;
  /// Asks every shard of the charges, once each; an error of one is the answer.
  void refund(Refund refund, Done<bool> done) override;

  [[nodiscard]] const FailoverCounters& counters() const { return counters_; }

 private:
  friend class FailoverCall;
  friend class FailoverRefund;

  void decide(GuardedCharges charges, bool take, Done<core::Decision> done);

  [[nodiscard]] std::optional<core::Decision> decide_at_once(const GuardedCharges& charges, bool take);
  [[nodiscard]] std::string next_request_id() { return id_prefix_ + std::to_string(++requests_); }

  CounterStore& store_;
  ShardOf shard_of_;
  LocalCounters& local_;
  const Clock& clock_;
  FailoverCounters counters_;
  ShardBreakers breakers_;
  const StoreAnswers answers_;
  std::string id_prefix_;  // no other FailoverStore has it
  std::uint64_t requests_ = 0;
  Guard guard_;
};

}  // namespace dripgate::store
