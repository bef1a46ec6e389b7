// Fixed window: units per window that is aligned to the epoch or to the calendar days of a zone. Used by
// core/check and core/booking. Pure.
#pragma once

#include "core/limit.h"

namespace dripgate::core {

/// The window of `limit` that holds t is [window_start, window_end). Both never step back as t grows. Needs
/// limit.window > 0 or limit.zone.
[[nodiscard]] WallTime window_start(const Limit& limit, WallTime t);
[[nodiscard]] WallTime window_end(const Limit& limit, WallTime t);
/// Both at once.
struct Window {
  WallTime start;
  WallTime end;
};
[[nodiscard]] Window window_at(const Limit& limit, WallTime t);

}  // namespace dripgate::core
