// Room, next and add of the three algorithms; see the header.
#include "core/booking_limit.h"

#include <algorithm>

#include "core/fixed_window.h"

namespace dripgate::core {
namespace {

/// Newest first over releases and plan, as one log.
class LogWalk {
 public:
  LogWalk(const std::vector<LogEntry>& released, const std::vector<LogEntry>* planned)
      : released_(released.rbegin()), released_end_(released.rend()) {
    if (planned == nullptr) return;
    planned_ = planned->rbegin();
    planned_end_ = planned->rend();
  }

  [[nodiscard]] const LogEntry* next() {
    const bool has_released = released_ != released_end_;
    const bool has_planned = planned_ != planned_end_;
    if (!has_released && !has_planned) return nullptr;
    if (has_planned && (!has_released || planned_->at >= released_->at)) return &*planned_++;
    return &*released_++;
  }

 private:
  using Iterator = std::vector<LogEntry>::const_reverse_iterator;
  Iterator released_;
  Iterator released_end_;
  Iterator planned_;
  Iterator planned_end_;
};

}  // namespace

Units window_room(const Limit& limit, const Holding& holding, WallTime t) {
  return limit.limit - (holding.at == window_start(limit, t) ? holding.units : 0);
}

WallTime window_next(const Limit& limit, const Holding& holding, WallTime t, Units cost) {
  return window_room(limit, holding, t) >= cost ? t : window_end(limit, t);
}

void window_add(const Limit& limit, Holding& holding, WallTime t, Units units) {
  const WallTime start = window_start(limit, t);
  holding.units = holding.at == start ? holding.units + units : units;
  holding.at = start;
}

Wide arrival(const Limit& limit, const Holding& holding) {
  return Wide{to_us(holding.at)} * limit.limit + holding.units;
}

void set_arrival(Units limit, Holding& holding, Wide arrival) {
  if (limit == 0) {  // time refills nothing: the debt is all there is
    holding.at = from_us(0);
    holding.units = saturate(arrival);
    return;
  }
  holding.at = from_us(saturate(floor_div<Wide>(arrival, limit)));
  holding.units = saturate(floor_mod<Wide>(arrival, limit));
}

Units bucket_room(const Limit& limit, const Holding& holding, WallTime t) {
  const Wide debt = std::max<Wide>(0, arrival(limit, holding) - Wide{to_us(t)} * limit.limit);
  const Wide left = Wide{limit.capacity} * limit.window.count() - debt;
  return left > 0 ? saturate(left / limit.window.count()) : 0;
}

WallTime bucket_next(const Limit& limit, const Holding& holding, WallTime t, Units cost) {
  if (bucket_room(limit, holding, t) >= cost) return t;
  if (limit.limit == 0) return kNeverEnds;
  const Wide ready = arrival(limit, holding) + Wide{cost - limit.capacity} * limit.window.count();
  return std::clamp(from_us(saturate(ceil_div<Wide>(ready, limit.limit))), t, std::max(t, kNeverEnds));
}

void bucket_add(const Limit& limit, Holding& holding, WallTime t, Units units, Units burst) {
  const Units spilled = std::max<Units>(0, limit.capacity - std::max(burst, units));
  const Wide level = Wide{to_us(t)} * limit.limit + Wide{spilled} * limit.window.count();
  set_arrival(limit.limit, holding,
              std::max(arrival(limit, holding), level) + Wide{units} * limit.window.count());
}

Units log_units(Duration window, const std::vector<LogEntry>& released, const std::vector<LogEntry>* planned,
                WallTime t) {
  Units units = 0;
  LogWalk walk(released, planned);
  for (const LogEntry* entry = walk.next(); entry != nullptr && entry->at > t - window; entry = walk.next())
    units += entry->units;
  return units;
}

WallTime log_next(Duration window, Units limit, const std::vector<LogEntry>& released,
                  const std::vector<LogEntry>* planned, WallTime t, Units cost) {
  Units units = 0;
  LogWalk walk(released, planned);
  for (const LogEntry* entry = walk.next(); entry != nullptr && entry->at > t - window; entry = walk.next()) {
    units += entry->units;
    if (units > limit - cost) return std::max(t, entry->at + window);
  }
  return t;
}

void log_add(Duration window, std::vector<LogEntry>& log, WallTime t, Units units) {
  if (!log.empty() && log.back().at >= t)
    log.back().units += units;
  else
    log.push_back({t, units});
  // By time, never by the limit: it may be raised again.
  const WallTime horizon = log.back().at - window;
  log.erase(log.begin(),
            std::ranges::find_if(log, [&](const LogEntry& entry) { return entry.at > horizon; }));
}

void log_remove(std::vector<LogEntry>& log, WallTime t, Units units) {
  const auto entry = std::ranges::find_if(
      log, [&](const LogEntry& planned) { return planned.at == t && planned.units >= units; });
  if (entry == log.end()) return;
  entry->units -= units;
  if (entry->units == 0) log.erase(entry);
}

}  // namespace dripgate::core
