#include "store/failover/shard_breakers.h"

#include <algorithm>
#include <utility>

namespace dripgate::store {

using core::Breaker;

ShardBreakers::ShardBreakers(CounterStore& store, Executor& executor, const Clock& clock,
                             core::BreakerSettings settings, FailoverCounters& counters)
    : store_(store), executor_(executor), clock_(clock), settings_(settings), counters_(counters) {}

ShardBreakers::Shard& ShardBreakers::at(std::size_t index) {
  while (shards_.size() <= index) shards_.push_back(std::make_unique<Shard>(settings_));
  if (counters_.shards.load(std::memory_order_relaxed) < shards_.size())
    counters_.shards.store(shards_.size(), std::memory_order_relaxed);
  return *shards_[index];
}

bool ShardBreakers::admits(std::size_t shard) {
  return at(shard % kBreakersMax).breaker.state(now()) == Breaker::State::closed;
}

std::optional<Breaker::Permit> ShardBreakers::admit(std::size_t shard) {
  Breaker& breaker = at(shard % kBreakersMax).breaker;
  const MonoTime when = now();
  if (breaker.state(when) != Breaker::State::closed) return std::nullopt;  // probes have their own timer
  return breaker.admit(when);
}

void ShardBreakers::report(std::size_t shard, const Breaker::Permit& permit, const Error* error,
                           const Charge& asked) {
  const std::size_t index = shard % kBreakersMax;
  Shard& of = at(index);
  const MonoTime when = now();
  if (!counts_as_failure(error)) return of.breaker.succeeded(permit, when);
  const bool was_closed = of.breaker.state(when) == Breaker::State::closed;
  of.breaker.failed(permit, when);
  if (!was_closed || of.breaker.state(when) == Breaker::State::closed) return;
  FailoverCounters::add(counters_.openings);
  of.probe = asked;
  of.probe.cost = 0;
  show(index);
  schedule(index);
}

void ShardBreakers::schedule(std::size_t index) {
  Shard& of = at(index);
  const Duration delay = std::max(of.breaker.retry_at() - now(), Duration{0});
  executor_.post_after(delay, guard_.wrap([this, index, timer = ++of.timer] {
    if (timer == at(index).timer) send_probe(index);
  }));
}

void ShardBreakers::send_probe(std::size_t index) {
  Shard& of = at(index);
  const auto permit = of.breaker.admit(now());
  schedule(index);  // if it is never answered, or came too early
  if (!permit) return;
  FailoverCounters::add(counters_.probes);
  show(index);
  store_.consume({of.probe}, guard_.wrap([this, index, permit = *permit](Result<core::Decision> answer) {
    probed(index, permit, answer ? nullptr : &answer.error());
  }));
}

void ShardBreakers::probed(std::size_t index, const Breaker::Permit& permit, const Error* error) {
  Shard& of = at(index);
  if (counts_as_failure(error)) {
    of.breaker.failed(permit, now());
  } else {
    of.breaker.succeeded(permit, now());
  }
  show(index);
  if (of.breaker.state(now()) == Breaker::State::closed) {
    ++of.timer;
  } else {
    schedule(index);
  }
}

bool ShardBreakers::counts_as_failure(const Error* error) {
  if (error == nullptr) return false;
  FailoverCounters::add(counters_.errors_of(error->code));
  // A counter that is broken or of a newer version is the trouble of its key: the shard has answered.
  return error->code != ErrorCode::invalid_argument && error->code != ErrorCode::corrupt &&
         error->code != ErrorCode::newer_version;
}

void ShardBreakers::show(std::size_t index) {
  counters_.breakers[index].store(at(index).breaker.state(now()), std::memory_order_relaxed);
}

}  // namespace dripgate::store
