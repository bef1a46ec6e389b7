// Scalars: see scalars.h.
#include "config/scalars.h"

#include <algorithm>
#include <charconv>

namespace dripgate::config {
namespace {

constexpr std::size_t kNameBytesMax = 64;
constexpr std::string_view kDurationForms =
    "accepted: a positive number with ms, s, m, h or d, such as 60s, 1.5s or 1d";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit) && (text.size() == 1 || text.front() != '0');
}

std::optional<std::int64_t> to_integer(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string in_range(Range range) {
  if (range.max == std::numeric_limits<std::int64_t>::max()) return "from " + std::to_string(range.min);
  return "from " + std::to_string(range.min) + " to " + std::to_string(range.max);
}

struct Unit {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array kUnits{Unit{"ms", 1'000}, Unit{"s", 1'000'000}, Unit{"m", 60'000'000},
                            Unit{"h", 3'600'000'000}, Unit{"d", 86'400'000'000}};

// Digits, maybe a point and digits, then a unit. Exact: 1.5s is 1'500'000, 0.0001ms is refused.
std::optional<Duration> exact_duration(std::string_view whole, std::string_view fraction, std::int64_t unit) {
  constexpr std::size_t kFractionDigitsMax = 12;
  const auto units = to_integer(whole);
  if (!units || fraction.size() > kFractionDigitsMax) return std::nullopt;
  std::int64_t us = 0;
  if (__builtin_mul_overflow(*units, unit, &us)) return std::nullopt;
  __int128 part = 0;
  __int128 scale = 1;
  for (const char digit : fraction) {
    part = part * 10 + (digit - '0');
    scale *= 10;
  }
  if (part * unit % scale != 0) return std::nullopt;
  if (__builtin_add_overflow(us, static_cast<std::int64_t>(part * unit / scale), &us)) return std::nullopt;
  return Duration{us};
}

// Why the text is not a duration; empty message: it is one.
struct ParsedDuration {
  std::optional<Duration> value;
  std::string why;
};

ParsedDuration parse_duration(std::string_view text) {
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, unit_at);
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? "" : number.substr(point + 1);
  const bool fraction_ok =
      point == std::string_view::npos || (!fraction.empty() && std::ranges::all_of(fraction, is_digit));
  if (text.starts_with('-')) return {{}, "it must be greater than 0"};
  if (!is_number(whole) || !fraction_ok) return {{}, "it does not start with a plain decimal number"};
  if (unit_at == std::string_view::npos) return {{}, "it has no unit"};
  const std::string_view name = text.substr(unit_at);
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  if (unit == kUnits.end()) {
    return {{}, in_quotes(name) + (name == "M" ? " could be minutes or months" : " is no unit")};
  }
  const auto value = exact_duration(whole, fraction, unit->us);
  if (!value) return {{}, "it is not a whole number of microseconds below 2^63"};
  if (value->count() == 0) return {{}, "it must be greater than 0"};
  return {value, {}};
}

}  // namespace

std::optional<std::int64_t> read_integer(const Node& node, std::string_view what, Range range,
                                         Report& report) {
  const std::string accepted = "accepted: a whole number " + in_range(range);
  if (node.kind != Node::Kind::scalar) {
    report.error(node.at, std::string(what) + " must be a number; " + accepted);
    return std::nullopt;
  }
  if (!node.plain || !is_number(node.text)) {
    const std::string_view how = node.plain ? "" : " in quotes";
    report.error(node.at, std::string(what) + " is " + in_quotes(node.text) + std::string(how) + "; " +
                              accepted + ", in plain decimal digits");
    return std::nullopt;
  }
  const auto value = to_integer(node.text);
  if (!value || *value < range.min || *value > range.max) {
    report.error(node.at, std::string(what) + " is " + in_quotes(node.text) + ", out of range; " + accepted);
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> read_bytes(const Node& node, std::string_view what, Range range, Report& report) {
  constexpr std::array kSizes{Unit{"KiB", 1 << 10}, Unit{"MiB", 1 << 20}, Unit{"GiB", 1 << 30}};
  for (const Unit& size : kSizes) {
    if (node.kind != Node::Kind::scalar || !node.text.ends_with(size.name)) continue;
    const std::string_view digits =
        std::string_view(node.text).substr(0, node.text.size() - size.name.size());
    const auto count = is_number(digits) ? to_integer(digits) : std::nullopt;
    std::int64_t bytes = 0;
    const bool fits = count && !__builtin_mul_overflow(*count, size.us, &bytes);
    if (fits && bytes >= range.min && bytes <= range.max) return bytes;
    report.error(node.at, std::string(what) + " is " + in_quotes(node.text) + "; accepted: bytes " +
                              in_range(range) + ", or a whole number with KiB, MiB or GiB");
    return std::nullopt;
  }
  return read_integer(node, what, range, report);
}

std::optional<Duration> read_duration(const Node& node, std::string_view what, Duration max, Report& report) {
  if (node.kind != Node::Kind::scalar) {
    report.error(node.at, std::string(what) + " must be a duration; " + std::string(kDurationForms));
    return std::nullopt;
  }
  const ParsedDuration parsed = parse_duration(node.text);
  if (!parsed.value) {
    report.error(node.at, std::string(what) + " is " + in_quotes(node.text) + ": " + parsed.why + "; " +
                              std::string(kDurationForms));
    return std::nullopt;
  }
  if (*parsed.value > max) {
    report.error(node.at,
                 std::string(what) + " is " + in_quotes(node.text) + "; accepted: at most " + shown(max));
    return std::nullopt;
  }
  return parsed.value;
}

std::optional<bool> read_flag(const Node& node, std::string_view what, Report& report) {
  if (node.kind == Node::Kind::scalar && node.plain) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  report.error(node.at, std::string(what) + " is " +
                            (node.kind == Node::Kind::scalar ? in_quotes(node.text) : "not one word") +
                            "; accepted: true, false");
  return std::nullopt;
}

std::optional<std::string> read_text(const Node& node, std::string_view what, std::size_t max,
                                     Report& report) {
  const auto control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  };
  if (node.kind == Node::Kind::scalar && !node.text.empty() && node.text.size() <= max &&
      std::ranges::none_of(node.text, control)) {
    return node.text;
  }
  report.error(node.at, std::string(what) + " must be text of 1 to " + std::to_string(max) +
                            " bytes on one line without control characters");
  return std::nullopt;
}

std::optional<std::string> read_name(const Node& node, std::string_view what, Report& report) {
  const auto letter_or_digit = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto fits = [&](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; };
  if (node.kind == Node::Kind::scalar && !node.text.empty() && node.text.size() <= kNameBytesMax &&
      letter_or_digit(node.text.front()) && std::ranges::all_of(node.text, fits)) {
    return node.text;
  }
  const std::string is = node.kind == Node::Kind::scalar ? " is " + in_quotes(node.text) : " is not one word";
  report.error(node.at, std::string(what) + is + "; accepted: letters, digits, '.', '_' and '-', at most " +
                            std::to_string(kNameBytesMax) + ", a letter or digit first");
  return std::nullopt;
}

std::string shown(Duration duration) {
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    if (duration.count() % unit->us == 0 && duration.count() >= unit->us) {
      return std::to_string(duration.count() / unit->us) + std::string(unit->name);
    }
  }
  return std::to_string(duration.count()) + "us";
}

}  // namespace dripgate::config
