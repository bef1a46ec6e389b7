// Window boundaries; see the header.
#include "core/fixed_window.h"

#include "base/checked.h"

namespace dripgate::core {

WallTime window_start(const Limit& limit, WallTime t) {
  return window_at(limit, t).start;
}

WallTime window_end(const Limit& limit, WallTime t) {
  return window_at(limit, t).end;
}

Window window_at(const Limit& limit, WallTime t) {
  if (limit.zone) {
    const Zone::Day day = limit.zone->day_at(t);
    return {day.start, day.end};
  }
  const WallTime start = from_us(to_us(t) - floor_mod<std::int64_t>(to_us(t), limit.window.count()));
  return {start, start + limit.window};
}

}  // namespace dripgate::core
