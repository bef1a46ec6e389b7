// Words and comparisons of limits; used by config, check and the drip's payload. Pure.
#include "core/limit.h"

#include <array>
#include <utility>

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

struct Unit {
  Duration span;
  const char* suffix;
};
constexpr std::array<Unit, 6> kUnits{
    {{24h, "d"}, {1h, "h"}, {1min, "min"}, {1s, "s"}, {1ms, "ms"}, {1us, "us"}}};

/// In the largest unit that leaves a whole number: "90s", "2min".
std::string span_text(Duration span) {
  for (const Unit& unit : kUnits)
    if (span >= unit.span && span % unit.span == Duration{0})
      return std::to_string(span / unit.span) + unit.suffix;
  return std::to_string(span.count()) + "us";
}

}  // namespace

std::string window_type(const Limit& limit) {
  if (limit.zone || limit.window == 24h) return "RPD";
  if (limit.window == 1s) return "RPS";
  if (limit.window == 1min) return "RPM";
  if (limit.window == 1h) return "RPH";
  return std::to_string(limit.limit) + "/" + span_text(limit.window);
}

bool same_shape(const Limit& a, const Limit& b) {
  if (a.algorithm != b.algorithm || a.window != b.window) return false;
  if (!a.zone || !b.zone) return a.zone == b.zone;
  return a.zone == b.zone || a.zone->name == b.zone->name;
}

}  // namespace dripgate::core
