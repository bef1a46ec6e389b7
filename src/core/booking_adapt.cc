// A reloaded policy meets a key's state: numbers change in place, limits come and go. Raising moves nothing.
#include <algorithm>

#include "core/booking_book.h"
#include "core/booking_limit.h"
#include "core/fixed_window.h"

namespace dripgate::core {
namespace {

/// FNV-1a; not stable across byte orders, and need not be: a state is read where it was written.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte, value >>= 8) hash = (hash ^ (value & 0xff)) * 0x100000001b3;
  return hash;
}

/// Equal exactly when same_shape() is true, collisions aside.
std::uint64_t shape_print(const Limit& limit) {
  std::uint64_t hash = mix(0xcbf29ce484222325, static_cast<std::uint64_t>(limit.algorithm));
  hash = mix(hash, static_cast<std::uint64_t>(limit.window.count()));
  if (!limit.zone) return hash;
  hash = mix(hash, 1);
  for (const char c : limit.zone->name) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

void KeyBook::adapt() {
  const auto& limits = policy_.limits;
  std::vector<LimitPrint> prints(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) prints[i] = {shape_print(limits[i]), limits[i].limit};
  if (prints == state_.prints) return;
  std::vector<Holding> released(limits.size());
  std::vector<Holding> tail(limits.size());
  std::vector<Holding> repair(limits.size());
  const bool has_repair = state_.repair_kind != RepairKind::none;
  std::vector<bool> taken(state_.prints.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto old = find_print(prints[i].shape, taken);
    if (!old) {
      tail[i] = tail_of_added(i);
      continue;
    }
    taken[*old] = true;
    const Units old_limit = state_.prints[*old].limit;
    released[i] = rescaled(i, std::move(state_.released[*old]), old_limit);
    tail[i] = rescaled(i, std::move(state_.tail.holdings[*old]), old_limit);
    if (has_repair) repair[i] = rescaled(i, std::move(state_.repair.holdings[*old]), old_limit);
  }
  state_.prints = std::move(prints);
  state_.released = std::move(released);
  state_.tail.holdings = std::move(tail);
  if (has_repair) state_.repair.holdings = std::move(repair);
}

std::optional<std::size_t> KeyBook::find_print(std::uint64_t shape, const std::vector<bool>& taken) const {
  for (std::size_t old = 0; old < state_.prints.size(); ++old)
    if (!taken[old] && state_.prints[old].shape == shape) return old;
  return std::nullopt;
}

/// A bucket keeps its debt in units: what is owed stays owed, and is refilled at the new rate.
Holding KeyBook::rescaled(std::size_t i, Holding holding, Units old_limit) const {
  const Limit& limit = policy_.limits[i];
  if (limit.algorithm != Algorithm::token_bucket || limit.limit == old_limit) return holding;
  const Wide old_arrival = Wide{to_us(holding.at)} * old_limit + holding.units;
  const Wide debt = std::max<Wide>(0, old_arrival - Wide{to_us(now())} * old_limit);
  set_arrival(limit.limit, holding, Wide{to_us(now())} * limit.limit + debt);
  return holding;
}

/// Nothing was counted under an added limit; the tail assumes the most that can be pending in its window.
Holding KeyBook::tail_of_added(std::size_t i) const {
  const Limit& limit = policy_.limits[i];
  Holding holding;
  const Units units = std::min(state_.pending(), limit.max_cost());
  if (state_.tail.at > now() && units > 0) add(i, holding, state_.tail.at, units, false);
  return holding;
}

}  // namespace dripgate::core
