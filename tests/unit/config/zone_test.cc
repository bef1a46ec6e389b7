// Zones as loaded: the days of S7 and S7b, and names that are none.
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "config/zone_load.h"

namespace dripgate::config {
namespace {

using namespace std::chrono_literals;

struct ZoneDay {
  const char* zone;
  std::chrono::sys_days date;  // local date, as if it were UTC
  std::chrono::sys_seconds start;
  std::chrono::minutes length;
};

constexpr std::chrono::sys_days date(int y, unsigned m, unsigned d) {
  return std::chrono::year{y} / std::chrono::month{m} / std::chrono::day{d};
}

TEST(ZoneLoad, KnowsDaysOfEveryLength) {
  const ZoneDay days[] = {
      {"America/New_York", date(2026, 3, 8), date(2026, 3, 8) + 5h, 23h},
      {"America/New_York", date(2026, 11, 1), date(2026, 11, 1) + 4h, 25h},
      {"America/New_York", date(2026, 7, 4), date(2026, 7, 4) + 4h, 24h},
      // 01:00 local is the first instant of the day where midnight is skipped.
      {"America/Santiago", date(2026, 9, 6), date(2026, 9, 6) + 4h, 23h},
      {"Africa/Cairo", date(2026, 4, 24), date(2026, 4, 23) + 22h, 23h},
      {"Asia/Beirut", date(2026, 3, 29), date(2026, 3, 28) + 22h, 23h},
      {"Australia/Lord_Howe", date(2026, 10, 4), date(2026, 10, 3) + 13h + 30min, 23h + 30min},
      {"Asia/Kathmandu", date(2026, 8, 3), date(2026, 8, 2) + 18h + 15min, 24h},
      {"UTC", date(2026, 8, 3), date(2026, 8, 3), 24h},
      // The rules of today hold beyond the table of the tz database.
      {"America/New_York", date(2099, 3, 8), date(2099, 3, 8) + 5h, 23h},
  };
  for (const ZoneDay& day : days) {
    const auto zone = load_zone(day.zone);
    ASSERT_TRUE(zone) << zone.error().detail;
    for (const auto within : {0min, day.length / 2, day.length - 1min}) {
      const auto found = (*zone)->day_at(WallTime{day.start} + within);
      EXPECT_EQ(found.start, WallTime{day.start}) << day.zone << " " << format_rfc3339(found.start);
      EXPECT_EQ(found.end, WallTime{day.start} + day.length) << day.zone << " " << format_rfc3339(found.end);
    }
  }
}

TEST(ZoneLoad, HasTheOffsetsOf1970To2100InOrder) {
  const auto zone = load_zone("America/New_York").value();
  EXPECT_EQ(zone->name, "America/New_York");
  EXPECT_EQ(zone->transitions.front().at, from_us(0));
  EXPECT_EQ(zone->transitions.front().utc_offset, -5h);
  EXPECT_EQ(zone->transitions.size(), 1u + 2 * 131);
  for (std::size_t i = 1; i < zone->transitions.size(); ++i) {
    EXPECT_LT(zone->transitions[i - 1].at, zone->transitions[i].at);
    EXPECT_NE(zone->transitions[i - 1].utc_offset, zone->transitions[i].utc_offset);
  }
  EXPECT_LT(zone->transitions.back().at, WallTime{date(2101, 1, 1)});
}

TEST(ZoneLoad, ReadsEachNameOnce) {
  EXPECT_EQ(load_zone("Asia/Kolkata").value(), load_zone("Asia/Kolkata").value());
}

TEST(ZoneLoad, RefusesNamesThatAreNoZones) {
  for (const char* name : {"", "localtime", "/usr/share/zoneinfo/UTC", "../UTC", "Asia", "right/UTC",
                           "Fixed/UTC+01:00:00", "Nowhere/City", "posixrules"}) {
    const auto zone = load_zone(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().code, ErrorCode::not_found);
    EXPECT_NE(zone.error().detail.find("accepted: an IANA name"), std::string::npos);
  }
}

}  // namespace
}  // namespace dripgate::config
