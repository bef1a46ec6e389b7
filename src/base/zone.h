// Zone: an IANA time zone as data, so that core can compute calendar days without a tz database.
// config fills it (absl::TimeZone) with the transitions of 1970..2100; Redis callers pass the same list to
// Lua.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace dripgate {

struct ZoneTransition {
  WallTime at;          // from this instant on ...
  Duration utc_offset;  // ... local time = UTC + utc_offset
};

struct Zone {
  std::string name;  // "America/New_York"
  std::vector<ZoneTransition>
      transitions;  // ascending, never empty; the first holds for all earlier time too

  /// The calendar day that contains t: [start, end). A day begins at the first instant that shows its date
  /// (01:00 where midnight is skipped); each date grants one day even where clocks go back over midnight.
  struct Day {
    WallTime start;
    WallTime end;
  };
  [[nodiscard]] Day day_at(WallTime t) const;
};

}  // namespace dripgate
