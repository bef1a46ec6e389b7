#include "store/failover/local_counters.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "store/counter_calls.h"

namespace dripgate::store {
namespace {

/// Longer refill periods mean the same: nobody waits 30,000 years.
constexpr std::int64_t kShareWindowMax = std::int64_t{1} << 60;

/// Points into `shares`, which must outlive it.
struct Rows {
  Rows(const CounterTable& table, const Charges& shares) {
    for (const Charge& share : shares)
      rows[count++] = {.key = table.fingerprint(share.key), .limit = &share.limit, .cost = share.cost};
  }
  [[nodiscard]] std::span<const TableCharge> get() const { return {rows.data(), count}; }

  std::array<TableCharge, kChargesPerRequestMax> rows;
  std::size_t count = 0;
};

}  // namespace

core::Limit local_share(const core::Limit& limit, int instances) {
  const int n = std::clamp(instances, 1, kInstancesMax);
  const core::Units capacity = limit.max_cost();
  std::int64_t window = 0;
  if (__builtin_mul_overflow(limit.window.count(), n, &window)) window = kShareWindowMax;
  return {.algorithm = core::Algorithm::token_bucket,
          .limit = limit.limit,
          .window = Duration{std::min(window, kShareWindowMax)},
          .capacity = capacity == 0 ? 0 : std::max<core::Units>(1, capacity / n),
          .zone = nullptr};
}

void LocalCounters::set_instances(int instances) {
  instances_.store(std::clamp(instances, 1, kInstancesMax), std::memory_order_relaxed);
}

Result<LocalCounters::Answer> LocalCounters::decide(std::vector<const GuardedCharge*> asked, bool take) {
  Charges shares;
  shares.reserve(asked.size());
  for (const GuardedCharge* guarded : asked) {
    Charge share = guarded->charge;
    share.limit = local_share(share.limit, std::max(guarded->local_share, instances()));
    shares.push_back(std::move(share));
  }
  if (auto valid = calls::check(shares); !valid) return std::unexpected(std::move(valid).error());
  const auto now = clock_.now();
  if (!now) return std::unexpected(now.error());
  const Rows rows(table_, shares);
  auto decision = take ? table_.consume(rows.get(), *now) : table_.peek(rows.get(), *now);
  if (!decision) return std::unexpected(std::move(decision).error());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    core::LimitOutcome& outcome = decision->outcomes[i];
    outcome.degraded = core::FailureMode::local;
    const Charge& whole = asked[i]->charge;
    if (outcome.verdict == core::Verdict::impossible && whole.cost <= whole.limit.max_cost())
      outcome.verdict = core::Verdict::deny;
  }
  core::judge(*decision);
  const bool took = take && decision->verdict == core::Verdict::allow;
  return Answer{.decision = *std::move(decision),
                .taken = {.shares = took ? std::move(shares) : Charges{}, .at = *now}};
}

void LocalCounters::give_back(const Taken& taken) {
  if (taken.shares.empty()) return;
  if (const auto now = clock_.now(); now) table_.refund(Rows(table_, taken.shares).get(), taken.at, *now);
}

}  // namespace dripgate::store
