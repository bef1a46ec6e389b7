#include "store/redis/coalescer.h"

#include <algorithm>
#include <utility>

#include "store/redis/counter_decisions.h"

namespace dripgate::store {
namespace {

bool equal_limits(const core::Limit& a, const core::Limit& b) {
  return core::written_under(a) == core::written_under(b) && a.zone == b.zone;
}

}  // namespace

/// Only the latest of a key's requests is joined: those of other limits or costs keep their turn.
void Coalescer::consume(Charge charge, Done<core::Decision> done) {
  const std::size_t number = scripts_.shard(charge.key);
  Shard& shard = shards_[number];
  const auto latest = shard.latest.find(charge.key);
  if (latest != shard.latest.end()) {
    Equal& equal = *latest->second;
    if (equal.charge().cost == charge.cost && equal_limits(equal.charge().limit, charge.limit) &&
        equal.waiting.size() < kRequestsPerCallMax) {
      equal.waiting.push_back(std::move(done));
      return;
    }
    shard.latest.erase(latest);
  }
  auto equal = std::make_shared<Equal>();
  Charges charges;
  charges.push_back(std::move(charge));
  equal->charges = std::make_shared<const Charges>(std::move(charges));
  equal->waiting.push_back(std::move(done));
  shard.latest.emplace(equal->charge().key, equal);
  shard.pending.push_back(std::move(equal));
  if (shard.pending.size() == 1)
    scripts_.client().when_writable(number, guard_.wrap([this, number] { flush(number); }));
}

/// A fast path may leave a request to the generic script, which then comes later: so where requests of one
/// key differ, all of them take the generic one, in their order.
void Coalescer::flush(std::size_t number) {
  const Shard shard = std::exchange(shards_[number], {});
  std::unordered_map<std::string_view, std::size_t> kinds;  // of requests, by key
  for (const EqualPtr& equal : shard.pending) ++kinds[equal->charge().key];
  std::unordered_map<std::string_view, Batch> batches;  // by tag
  for (const EqualPtr& equal : shard.pending) {
    if (kinds[equal->charge().key] > 1 || !is_common(equal->charge())) {
      send_generic(equal);
      continue;
    }
    Batch& batch = batches[scripts_.tag_of(equal->charge().key)];
    batch.push_back(equal);
    if (batch.size() == kKeysPerCallMax) send(std::exchange(batch, {}));
  }
  for (auto& [tag, batch] : batches)
    if (!batch.empty()) send(std::move(batch));
}

void Coalescer::send(Batch batch) {
  std::vector<BucketCall> calls;
  calls.reserve(batch.size());
  for (const EqualPtr& equal : batch)
    calls.push_back({.charge = &equal->charge(), .requests = equal->requests()});
  scripts_.consume_buckets(calls, CounterScripts::Mode::each,
                           guard_.wrap([this, batch = std::move(batch)](const Result<Heard>& heard) {
                             for (std::size_t i = 0; i < batch.size(); ++i) answer_fast(batch[i], heard, i);
                           }));
}

void Coalescer::answer_fast(const EqualPtr& equal, const Result<Heard>& heard, std::size_t place) {
  if (!heard) return refuse(*equal, heard.error());
  if (place >= heard->states.size() || !is_under(heard->states[place], equal->charge().limit, heard->now))
    return send_generic(equal);
  answer(*equal, heard->states[place], heard->now, std::nullopt);
}

void Coalescer::send_generic(const EqualPtr& equal) {
  scripts_.consume(equal->charges, equal->requests(), guard_.wrap([equal](const Result<Heard>& heard) {
    if (!heard) return refuse(*equal, heard.error());
    if (heard->states.empty()) return refuse(*equal, scripts_disagree().error());
    answer(*equal, heard->states.front(), heard->now, heard->taken);
  }));
}

/// `taken`: what the script says that it admitted.
void Coalescer::answer(Equal& equal, core::CounterState state, WallTime now,
                       std::optional<core::Units> taken) {
  auto decisions = decide_each(equal.charge(), equal.requests(), state, now);
  const auto allowed = std::count_if(decisions.begin(), decisions.end(), [](const core::Decision& decision) {
    return decision.verdict == core::Verdict::allow;
  });
  if (taken && *taken != allowed) return refuse(equal, scripts_disagree().error());
  for (std::size_t i = 0; i < decisions.size(); ++i) equal.waiting[i](std::move(decisions[i]));
}

void Coalescer::refuse(Equal& equal, const Error& error) {
  for (Done<core::Decision>& done : equal.waiting) done(std::unexpected(error));
}

}  // namespace dripgate::store
