// One limit's arithmetic for booking: room at t, the earliest t with room, adding units. Pure; used by
// KeyBook only. Products of a time and a limit pass 2^63, so bucket arithmetic is Wide.
#pragma once

#include "base/checked.h"
#include "core/booking_state.h"

namespace dripgate::core {

// --- fixed window: `holding` stands in one window
[[nodiscard]] Units window_room(const Limit& limit, const Holding& holding, WallTime t);
[[nodiscard]] WallTime window_next(const Limit& limit, const Holding& holding, WallTime t, Units cost);
void window_add(const Limit& limit, Holding& holding, WallTime t, Units units);

// --- token bucket: arrival time times limit, so that a refill of one unit is exactly one window
[[nodiscard]] Wide arrival(const Limit& limit, const Holding& holding);
void set_arrival(Units limit, Holding& holding, Wide arrival);
[[nodiscard]] Units bucket_room(const Limit& limit, const Holding& holding, WallTime t);
[[nodiscard]] WallTime bucket_next(const Limit& limit, const Holding& holding, WallTime t, Units cost);
/// `burst`: the largest burst this cursor takes; below the capacity the rest of the bucket is spilled.
void bucket_add(const Limit& limit, Holding& holding, WallTime t, Units units, Units burst);

// --- sliding log: real releases and, beyond them, what is planned (may be null)
[[nodiscard]] Units log_units(Duration window, const std::vector<LogEntry>& released,
                              const std::vector<LogEntry>* planned, WallTime t);
[[nodiscard]] WallTime log_next(Duration window, Units limit, const std::vector<LogEntry>& released,
                                const std::vector<LogEntry>* planned, WallTime t, Units cost);
void log_add(Duration window, std::vector<LogEntry>& log, WallTime t, Units units);
/// Takes planned units out again; units that are not there stay.
void log_remove(std::vector<LogEntry>& log, WallTime t, Units units);

}  // namespace dripgate::core
