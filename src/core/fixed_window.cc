// Window boundaries; see the header.
#include "core/fixed_window.h"

#include "base/checked.h"

namespace dripgate::core {

WallTime window_start(const Limit& limit, WallTime t) {
  if (limit.zone) return limit.zone->day_at(t).start;
  return from_us(to_us(t) - floor_mod<std::int64_t>(to_us(t), limit.window.count()));
}

WallTime window_end(const Limit& limit, WallTime t) {
  if (limit.zone) return limit.zone->day_at(t).end;
  return window_start(limit, t) + limit.window;
}

}  // namespace dripgate::core
