// Zone loading: see zone_load.h.
#include "config/zone_load.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <absl/time/time.h>

#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kZoneNameBytesMax = 64;
constexpr int kZoneChangesMax = 2'000;  // Casablanca, the busiest, has about 350 up to 2100

// Names that the tz database knows, not paths, and not the host's own zone, which differs per machine.
bool is_zone_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '/';
  };
  return !name.empty() && name.size() <= kZoneNameBytesMax && name.front() != '/' &&
         std::ranges::all_of(name, fits) && name != "localtime" && !name.starts_with("right/") &&
         !name.starts_with("posix") && !name.starts_with("Fixed/");
}

WallTime to_wall(absl::Time t) {
  return from_us(absl::ToUnixMicros(t));
}

Duration offset_at(const absl::TimeZone& tz, absl::Time t) {
  return std::chrono::seconds{tz.At(t).offset};
}

std::shared_ptr<const Zone> read_zone(const std::string& name, const absl::TimeZone& tz) {
  const absl::Time end = absl::FromCivil(absl::CivilYear(2101), absl::UTCTimeZone());
  auto zone = std::make_shared<Zone>();
  zone->name = name;
  absl::Time at = absl::UnixEpoch();
  zone->transitions.push_back({to_wall(at), offset_at(tz, at)});
  absl::TimeZone::CivilTransition change;
  for (int i = 0; i < kZoneChangesMax && tz.NextTransition(at, &change); ++i) {
    at = tz.At(change.to).trans;
    if (at >= end) break;
    const Duration offset = offset_at(tz, at);
    // Changes of the abbreviation alone move nothing.
    if (offset != zone->transitions.back().utc_offset) zone->transitions.push_back({to_wall(at), offset});
  }
  return zone;
}

// The names of the database's own table, for a hint only: empty where it cannot be read.
std::vector<std::string> known_names() {
  std::vector<std::string> names{"UTC"};
  std::ifstream table("/usr/share/zoneinfo/zone1970.tab");
  std::string line;
  while (std::getline(table, line)) {
    if (line.starts_with('#')) continue;
    const std::size_t second = line.find('\t', line.find('\t') + 1);
    if (second == std::string::npos) continue;
    names.push_back(line.substr(second + 1, line.find('\t', second + 1) - second - 1));
  }
  return names;
}

std::string unknown_zone(const std::string& name) {
  std::string message = "timezone " + in_quotes(name) + " is not in the tz database; ";
  const std::vector<std::string> names = known_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (const auto near = closest(name, views)) message += "did you mean " + in_quotes(*near) + "? ";
  return message + "accepted: an IANA name such as UTC, Asia/Kolkata or America/New_York";
}

}  // namespace

Result<std::shared_ptr<const Zone>> load_zone(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Zone>> loaded;  // bounded by the database's own names
  const std::lock_guard lock(mutex);
  if (const auto found = loaded.find(name); found != loaded.end()) return found->second;
  absl::TimeZone tz;
  if (!is_zone_name(name) || !absl::LoadTimeZone(name, &tz)) {
    return fail(ErrorCode::not_found, unknown_zone(name));
  }
  return loaded[name] = read_zone(name, tz);
}

}  // namespace dripgate::config
