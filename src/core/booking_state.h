// KeyState: everything the drip remembers of one key. O(limits), plus log entries for a sliding log; it never
// grows with the backlog. Backends keep it as bytes (booking.h, encode) or as it is; only core reads inside.
// Value semantics, no thread rule of its own. What the members are for: docs/booking.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/limit.h"

namespace dripgate::core {

/// `units` at one instant of a sliding log.
struct LogEntry {
  WallTime at;
  Units units = 0;

  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// What a cursor holds of one limit.
/// fixed window: `at` = start of the window it stands in, `units` = units in it.
/// token bucket: the theoretical arrival time, `at` whole microseconds and `units` the numerator of the rest
/// (over the limit); with limit 0 time does not matter and `units` is the whole debt.
/// sliding log: `log`, ascending; in the tail and the repair cursor only what is planned beyond `released`.
struct Holding {
  WallTime at = kLongAgo;
  Units units = 0;
  std::vector<LogEntry> log;

  friend bool operator==(const Holding&, const Holding&) = default;
};

/// A position in future capacity: everything before `at` is taken.
struct Cursor {
  WallTime at = kLongAgo;
  std::vector<Holding> holdings;  // one per limit

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// The limit a column of holdings was written under, so that a reloaded policy can carry it over.
struct LimitPrint {
  std::uint64_t shape = 0;  // algorithm, window, zone
  Units limit = 0;

  friend bool operator==(const LimitPrint&, const LimitPrint&) = default;
};

/// Which room the repair cursor keeps: of a replay (overdue units), or of a largest window the tail has left.
enum class RepairKind : std::uint8_t { none, replay, crossing };

struct KeyState {
  WallTime last_seen = kLongAgo;      // the key's clock; kLongAgo: nothing is known of this key
  WallTime frozen_until = kLongAgo;   // nobody is released before
  WallTime unknown_until = kLongAgo;  // newcomers wait: releases before the store was emptied may count
  std::uint32_t epoch = 0;            // of the last replay: bookings of other epochs are not in the tail
  std::uint32_t leak = 0;             // current generation of pending units
  WallTime leak_since = kLongAgo;
  Units pending_old = 0;  // booked and not released, generation leak - 1
  Units pending_new = 0;  // ... and generation leak
  RepairKind repair_kind = RepairKind::none;
  std::vector<LimitPrint> prints;
  std::vector<Holding> released;  // real releases; the gate asks only these
  Cursor tail;
  Cursor repair;

  [[nodiscard]] Units pending() const { return pending_old + pending_new; }

  friend bool operator==(const KeyState&, const KeyState&) = default;
};

}  // namespace dripgate::core
