// ShardBreakers: a breaker per shard of a CounterStore, and the probes that close them again. A probe is a
// call of its own (a charge that failed, at cost 0: it runs the same script and takes nothing), sent by a
// timer: no caller ever waits for one, and a shard that nobody asks recovers all the same. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/guard.h"
#include "base/time.h"
#include "core/breaker.h"
#include "store/counter_store.h"
#include "store/failover/failover_counters.h"

namespace dripgate::store {

class ShardBreakers {
 public:
  /// `clock` must not step. All outlive this.
  ShardBreakers(CounterStore& store, Executor& executor, const Clock& clock, core::BreakerSettings settings,
                FailoverCounters& counters);

  /// False: `admit` would say no.
  [[nodiscard]] bool admits(std::size_t shard);
  /// Empty: do not ask this shard. Otherwise report the answer once.
  [[nodiscard]] std::optional<core::Breaker::Permit> admit(std::size_t shard);
  /// `error`: null if the store answered; its refusal of a wrong request is an answer too. `asked`: any
  /// charge of the call.
  void report(std::size_t shard, const core::Breaker::Permit& permit, const Error* error,
              const Charge& asked);

 private:
  struct Shard {
    explicit Shard(const core::BreakerSettings& settings) : breaker(settings) {}
    core::Breaker breaker;
    Charge probe;
    std::uint64_t timer = 0;  // the latest: older ones do nothing
  };

  [[nodiscard]] MonoTime now() const { return MonoTime{clock_.now().time_since_epoch()}; }
  Shard& at(std::size_t index);
  void schedule(std::size_t index);
  void send_probe(std::size_t index);
  void probed(std::size_t index, const core::Breaker::Permit& permit, const Error* error);
  [[nodiscard]] bool counts_as_failure(const Error* error);
  void show(std::size_t index);

  CounterStore& store_;
  Executor& executor_;
  const Clock& clock_;
  core::BreakerSettings settings_;
  FailoverCounters& counters_;
  std::vector<std::unique_ptr<Shard>> shards_;
  Guard guard_;
};

}  // namespace dripgate::store
