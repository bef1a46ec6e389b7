// base: calendar days of hand-made zones, RFC 3339, SHA-256, keyed hash, checked arithmetic.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "base/keyed_hash.h"
#include "base/rfc3339.h"
#include "base/sha256.h"
#include "base/zone.h"

namespace dripgate {
namespace {

using namespace std::chrono_literals;

WallTime utc(const char* text) {
  return parse_rfc3339(text).value();
}
std::string day_text(const Zone& zone, const char* t) {
  const Zone::Day day = zone.day_at(utc(t));
  return format_rfc3339(day.start) + " " + format_rfc3339(day.end);
}

const Zone kNewYork{"America/New_York",
                    {{utc("2025-11-02T06:00:00Z"), -5h},
                     {utc("2026-03-08T07:00:00Z"), -4h},
                     {utc("2026-11-01T06:00:00Z"), -5h}}};
// Clocks go from 00:00 to 01:00: the day has no midnight. In April they go from 24:00 back to 23:00.
const Zone kSantiago{"America/Santiago",
                     {{utc("2025-09-07T04:00:00Z"), -3h},
                      {utc("2026-04-05T03:00:00Z"), -4h},
                      {utc("2026-09-06T04:00:00Z"), -3h}}};
const Zone kLordHowe{"Australia/Lord_Howe",
                     {{utc("2025-10-04T15:30:00Z"), 11h},
                      {utc("2026-04-04T15:00:00Z"), 10h + 30min},
                      {utc("2026-10-03T15:30:00Z"), 11h}}};
// Until 2011 clocks there went back at 00:01 to 23:01 of the day before: both dates are shown twice.
const Zone kStJohns{
    "America/St_Johns",
    {{utc("2010-03-14T03:31:00Z"), -(2h + 30min)}, {utc("2010-11-07T02:31:00Z"), -(3h + 30min)}}};
// 30 December 2011 was never shown.
const Zone kApia{"Pacific/Apia", {{utc("2011-09-24T14:00:00Z"), -10h}, {utc("2011-12-30T10:00:00Z"), 14h}}};
const Zone kKolkata{"Asia/Kolkata", {{kLongAgo, 5h + 30min}}};

struct DayCase {
  const Zone& zone;
  const char* t;
  const char* day;
};

TEST(Zone, GivesTheCalendarDayAroundEveryKindOfClockChange) {
  const DayCase cases[] = {
      {kKolkata, "2026-01-01T18:29:59.999999Z", "2025-12-31T18:30:00Z 2026-01-01T18:30:00Z"},
      {kKolkata, "2026-01-01T18:30:00Z", "2026-01-01T18:30:00Z 2026-01-02T18:30:00Z"},
      {kNewYork, "2026-11-01T04:30:00Z", "2026-11-01T04:00:00Z 2026-11-02T05:00:00Z"},  // 25 h
      {kNewYork, "2026-03-08T05:30:00Z", "2026-03-08T05:00:00Z 2026-03-09T04:00:00Z"},  // 23 h
      {kNewYork, "2026-11-01T03:59:59.999999Z", "2026-10-31T04:00:00Z 2026-11-01T04:00:00Z"},
      {kNewYork, "1980-06-01T12:00:00Z", "1980-06-01T05:00:00Z 1980-06-02T05:00:00Z"},  // before the list
      {kSantiago, "2026-09-06T03:59:59Z", "2026-09-05T04:00:00Z 2026-09-06T04:00:00Z"},
      {kSantiago, "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z 2026-09-07T03:00:00Z"},
      {kSantiago, "2026-04-05T03:30:00Z", "2026-04-04T03:00:00Z 2026-04-05T04:00:00Z"},
      {kLordHowe, "2026-04-05T00:00:00Z", "2026-04-04T13:00:00Z 2026-04-05T13:30:00Z"},  // 24.5 h
      {kLordHowe, "2026-10-04T00:00:00Z", "2026-10-03T13:30:00Z 2026-10-04T13:00:00Z"},  // 23.5 h
      {kStJohns, "2010-11-07T02:29:59Z", "2010-11-06T02:30:00Z 2010-11-07T02:30:00Z"},
      {kStJohns, "2010-11-07T02:30:30Z", "2010-11-07T02:30:00Z 2010-11-08T03:30:00Z"},
      {kStJohns, "2010-11-07T03:00:00Z",
       "2010-11-07T02:30:00Z 2010-11-08T03:30:00Z"},  // shows 23:30 of the 6th
      {kApia, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z 2011-12-30T10:00:00Z"},
      {kApia, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z 2011-12-31T10:00:00Z"},
  };
  for (const DayCase& c : cases) EXPECT_EQ(day_text(c.zone, c.t), c.day) << c.zone.name << " " << c.t;
}

/// By the definition, instant by instant: the latest date shown so far.
class SlowDays {
 public:
  SlowDays(const Zone& zone, WallTime from, WallTime to, Duration step) : from_(from), step_(step) {
    std::int64_t latest = INT64_MIN;
    std::size_t i = 0;
    for (WallTime t = from; t < to; t += step) {
      while (i + 1 < zone.transitions.size() && zone.transitions[i + 1].at <= t) ++i;
      const Duration local = t.time_since_epoch() + zone.transitions[i].utc_offset;
      latest = std::max<std::int64_t>(latest, floor_div<std::int64_t>(local.count(), Duration{24h}.count()));
      dates_.push_back(latest);
    }
  }
  [[nodiscard]] std::int64_t date(WallTime t) const { return dates_.at(index(t)); }

 private:
  [[nodiscard]] std::size_t index(WallTime t) const { return static_cast<std::size_t>((t - from_) / step_); }
  WallTime from_;
  Duration step_;
  std::vector<std::int64_t> dates_;
};

TEST(Zone, TilesTimeWithoutGapsAndNeverGrantsADateTwiceInRandomZones) {
  std::mt19937_64 random(7);
  const auto any = [&random](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  int back_over_midnight = 0, skipped_dates = 0, short_days = 0;
  for (int round = 0; round < 60; ++round) {
    Zone zone{"random", {{utc("2026-01-01T00:00:00Z"), Duration{any(-24, 24) * 30min}}}};
    for (int i = 0; i < 6; ++i)
      zone.transitions.push_back(
          {zone.transitions.back().at + any(10, 200) * 30min, i % 3 == 0   ? Duration{-12h}
                                                              : i % 3 == 1 ? Duration{any(24, 28) * 30min}
                                                                           : Duration{any(-24, 28) * 30min}});
    const WallTime from = utc("2025-12-28T00:00:00Z");
    const WallTime to = zone.transitions.back().at + 120h;
    const SlowDays slow(zone, from, to, 30min);
    Zone::Day before{};
    for (WallTime t = from + 48h; t < to - 60h; t += 30min) {
      const Zone::Day day = zone.day_at(t);
      ASSERT_LE(day.start, t);
      ASSERT_LT(t, day.end);
      ASSERT_EQ(slow.date(day.start), slow.date(t));
      ASSERT_LT(slow.date(day.start - 30min), slow.date(t)) << "the date was shown before its day";
      ASSERT_GT(slow.date(day.end), slow.date(t));
      ASSERT_EQ(slow.date(day.end - 30min), slow.date(t));
      if (before.end > before.start && day.start != before.start) {
        ASSERT_EQ(day.start, before.end);
        skipped_dates += slow.date(t) - slow.date(before.start) > 1;
        short_days += day.end - day.start < 24h;
        back_over_midnight += day.end - day.start > 24h;
      }
      before = day;
    }
  }
  EXPECT_GT(back_over_midnight, 20);
  EXPECT_GT(skipped_dates, 5);
  EXPECT_GT(short_days, 20);
}

TEST(Rfc3339, ShowsAFractionOnlyWhereItIsNotZeroUnlessMillisecondsAreAskedFor) {
  const WallTime t = utc("2026-08-03T14:02:00Z");
  EXPECT_EQ(format_rfc3339(t), "2026-08-03T14:02:00Z");
  EXPECT_EQ(format_rfc3339(t + 600ms), "2026-08-03T14:02:00.600Z");
  EXPECT_EQ(format_rfc3339(t + 1us), "2026-08-03T14:02:00.000001Z");
  EXPECT_EQ(format_rfc3339(t, Fraction::milliseconds), "2026-08-03T14:02:00.000Z");
  EXPECT_EQ(format_rfc3339(t + 1999us, Fraction::milliseconds), "2026-08-03T14:02:00.001Z");
  EXPECT_EQ(format_rfc3339(WallTime{-1us}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339(WallTime{-1us}, Fraction::milliseconds), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(kNeverEnds), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339(kLongAgo), "0000-01-01T00:00:00Z");
}

TEST(Rfc3339, ReadsWhatItWritesAndEveryFormOfTheStandard) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const WallTime t = from_us(std::uniform_int_distribution<std::int64_t>(-60'000'000'000'000'000,
                                                                           250'000'000'000'000'000)(random));
    ASSERT_EQ(parse_rfc3339(format_rfc3339(t)).value(), t);
  }
  const WallTime t = utc("2027-01-15T08:00:45Z");
  EXPECT_EQ(utc("2027-01-15T09:00:45+01:00"), t);
  EXPECT_EQ(utc("2027-01-15t02:30:45.000-05:30"), t);
  EXPECT_EQ(utc("2027-01-15T08:00:45.25z"), t + 250ms);
  EXPECT_EQ(utc("2027-01-15T08:00:45.123456789Z"), t + 123456us);
  EXPECT_EQ(utc("2016-12-31T23:59:60Z"), utc("2017-01-01T00:00:00Z"));
  EXPECT_EQ(utc("2017-01-01T00:59:60+01:00"), utc("2017-01-01T00:00:00Z"));
  EXPECT_EQ(utc("2024-02-29T00:00:00Z"), utc("2024-03-01T00:00:00Z") - 24h);
}

TEST(Rfc3339, RefusesEverythingElseAndSaysWhatItTakes) {
  for (const char* text : {"",
                           "2027",
                           "2027-01-15",
                           "2027-01-15 08:00:45Z",
                           "2027-01-15T08:00:45",
                           "2027-01-15T08:00:45.Z",
                           "2027-01-15T08:00:45,5Z",
                           "2027-13-15T08:00:45Z",
                           "2027-02-29T08:00:45Z",
                           "2027-01-00T08:00:45Z",
                           "2027-01-15T24:00:00Z",
                           "2027-01-15T08:60:00Z",
                           "2027-01-15T08:00:60Z",
                           "2027-01-15T08:00:61Z",
                           "2027-01-15T08:00:45+1:00",
                           "2027-01-15T08:00:45+0100",
                           "2027-01-15T08:00:45+24:00",
                           "2027-01-15T08:00:45ZZ",
                           " 2027-01-15T08:00:45Z",
                           "2027-1-15T08:00:45Z",
                           "+027-01-15T08:00:45Z"}) {
    const auto read = parse_rfc3339(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(read.error().detail.find("2026-08-03T14:02:00Z"), std::string::npos);
  }
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abc", 16), "ba7816bf8f01cfea");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(digest64("abc"), 0xba7816bf8f01cfeau);
}

TEST(KeyedHash, IsSipHash13) {
  // Reference vectors of SipHash-1-3 (key 00 01 .. 0f, messages of 0, 1, 2, ... bytes 00 01 ..) as in the
  // published C implementation, little-endian.
  const HashKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(keyed_hash(key, ""), 0xabac0158050fc4dcu);
  EXPECT_EQ(keyed_hash(key, std::string_view("\0", 1)), 0xc9f49bf37d57ca93u);
  EXPECT_NE(keyed_hash(key, "a"), keyed_hash(random_hash_key(), "a"));
  std::set<std::uint64_t> different;
  for (std::size_t length = 0; length <= 40; ++length)
    different.insert(keyed_hash(key, std::string(length, '\0')));
  EXPECT_EQ(different.size(), 41u);
}

TEST(Checked, RoundsTowardsTheNamedSideAndNeverWraps) {
  EXPECT_EQ(floor_div<std::int64_t>(-1, 60), -1);
  EXPECT_EQ(floor_div<std::int64_t>(-60, 60), -1);
  EXPECT_EQ(floor_div<std::int64_t>(59, 60), 0);
  EXPECT_EQ(ceil_div<std::int64_t>(-59, 60), 0);
  EXPECT_EQ(ceil_div<std::int64_t>(1, 60), 1);
  EXPECT_EQ(ceil_div<std::int64_t>(60, 60), 1);
  EXPECT_EQ(floor_mod<std::int64_t>(-1, 60), 59);
  EXPECT_EQ(floor_mod<std::int64_t>(-60, 60), 0);
  EXPECT_EQ(saturating_add(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(saturating_add(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(saturate(Wide{INT64_MAX} + 1), INT64_MAX);
  EXPECT_EQ(saturate(-Wide{INT64_MAX} * 2), INT64_MIN);
}

}  // namespace
}  // namespace dripgate
