#include "vendor/wait_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include "base/rfc3339.h"

namespace dripgate::vendor {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTextBytesMax = 128;               // no wait is longer; nothing reads on into rubbish
constexpr std::int64_t kWaitSecondsMax = 1'000'000'000;  // a delta of ten digits is an epoch time
constexpr int kFractionDigitsMax = 18;
constexpr std::int64_t kDateSecondsMax = 100'000'000'000;  // the year 5138: as for numbers

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// A decimal number without sign or exponent, as whole and millionths (rounded up).
struct Decimal {
  std::int64_t whole = 0;
  std::int64_t millionths = 0;
  bool fraction = false;
};

/// Takes a decimal from the front of `text`.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.whole);
  if (text.empty() || !digit(text.front()) || error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != '.') return number;
  text.remove_prefix(1);
  number.fraction = true;
  std::int64_t unit = 100'000;
  int digits = 0;
  bool more = false;
  for (; !text.empty() && digit(text.front()); text.remove_prefix(1), ++digits) {
    number.millionths += (text.front() - '0') * unit;
    more |= unit == 0 && text.front() != '0';
    unit /= 10;
  }
  if (digits == 0 || digits > kFractionDigitsMax) return std::nullopt;
  if (more) ++number.millionths;
  return number;
}

/// number x unit in us, rounded up; empty: beyond what a wait can be.
std::optional<Duration> in_us(const Decimal& number, Duration unit) {
  if (number.whole >= kWaitSecondsMax * 1'000'000 / std::max<std::int64_t>(unit.count(), 1))
    return std::nullopt;
  const std::int64_t part = number.millionths * unit.count();
  return Duration{number.whole * unit.count() + (part + 999'999) / 1'000'000};
}

std::optional<Wait> until(WallTime time, const Instants& at, Duration resolution) {
  return Wait{.wait = std::max<Duration>(time - at.reference(), Duration{0}), .resolution = resolution};
}

std::optional<Wait> read_number(std::string_view text, Duration unit, const Instants& at, bool by_size) {
  const auto number = take_decimal(text);
  if (!number || !text.empty()) return std::nullopt;
  const std::int64_t size = number->whole;
  if (!by_size || size < 1'000'000'000) {
    const auto wait = in_us(*number, unit);
    if (!wait) return std::nullopt;
    return Wait{.wait = *wait, .resolution = number->fraction ? Duration{0} : unit};
  }
  // Relative to a Date of whole seconds, a time is known no better than that.
  if (size < 100'000'000'000) {
    const Duration since_1970{(size * 1'000'000) + number->millionths};
    return until(WallTime{since_1970}, at, 1s);
  }
  if (size < 100'000'000'000'000) return until(WallTime{Duration{size * 1000}}, at, 1s);
  if (size < 100'000'000'000'000'000) return until(WallTime{Duration{size}}, at, 1s);
  return std::nullopt;  // ns: nobody sends them, and a mistake would be a wait of years
}

struct Unit {
  std::string_view name;
  int order;  // units must come in falling order, each once
  std::int64_t ns;
};
constexpr std::array kUnits{Unit{"ms", 4, 1'000'000},        Unit{"us", 5, 1000},
                            Unit{"\xc2\xb5s", 5, 1000},      Unit{"ns", 6, 1},
                            Unit{"h", 1, 3'600'000'000'000}, Unit{"m", 2, 60'000'000'000},
                            Unit{"s", 3, 1'000'000'000}};

/// "1h30m0s", "2m59.56s", "17ms": Go's form; a fraction may end it.
std::optional<Wait> read_go_duration(std::string_view text) {
  std::int64_t total = 0;  // ns
  int order = 0;
  bool fraction = false;
  while (!text.empty()) {
    const auto number = take_decimal(text);
    if (!number || fraction) return std::nullopt;
    fraction = number->fraction;
    const auto unit = std::ranges::find_if(kUnits, [&](const Unit& u) { return text.starts_with(u.name); });
    if (unit == kUnits.end() || unit->order <= order) return std::nullopt;
    order = unit->order;
    text.remove_prefix(unit->name.size());
    if (number->whole >= kWaitSecondsMax * 1'000'000'000 / unit->ns) return std::nullopt;
    total += number->whole * unit->ns + (number->millionths * (unit->ns / 1000) + 999) / 1000;
  }
  if (order == 0 || total >= kWaitSecondsMax * 1'000'000'000) return std::nullopt;
  return Wait{.wait = Duration{(total + 999) / 1000}, .resolution = Duration{0}};
}

/// "PT1H2M3.5S": the same with other letters; days and more are no rate limit's form.
std::optional<Wait> read_iso_span(std::string_view text) {
  if (!text.starts_with("PT")) return std::nullopt;
  std::string go(text.substr(2));
  for (char& c : go) {
    if (c == 'H' || c == 'M' || c == 'S') {
      c = static_cast<char>(c - 'A' + 'a');
    } else if (!digit(c) && c != '.') {
      return std::nullopt;
    }
  }
  return read_go_duration(go);
}

std::optional<Wait> read_duration(std::string_view text) {
  const auto go = read_go_duration(text);
  return go ? go : read_iso_span(text);
}

/// "2026-08-03T14:02Z": the seconds are put in.
std::optional<WallTime> read_time(std::string_view text) {
  constexpr std::size_t kToMinutes = 16;
  if (const auto time = parse_rfc3339(text)) return *time;
  if (text.size() <= kToMinutes || text[kToMinutes] == ':') return read_http_date(text);
  std::string whole(text);
  whole.insert(kToMinutes, ":00");
  const auto time = parse_rfc3339(whole);
  return time ? std::optional(*time) : read_http_date(text);
}

std::optional<Wait> read_instant(std::string_view text, const Instants& at) {
  const auto time = read_time(text);
  // As numbers and HTTP dates: before 1970 or after 5138 is a mistake.
  if (!time || *time < WallTime{} || *time > WallTime{std::chrono::seconds{kDateSecondsMax}})
    return std::nullopt;
  return until(*time, at, 1s);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<WallTime> read_http_date(std::string_view text) {
  if (text.size() > kTextBytesMax || text.contains('\0')) return std::nullopt;
  static constexpr std::array kForms{"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                     "%a %b %e %H:%M:%S %Y"};
  for (const char* form : kForms) {
    absl::Time time;
    if (!absl::ParseTime(form, absl::string_view(text.data(), text.size()), &time, nullptr)) continue;
    if (time < absl::UnixEpoch() || time > absl::FromUnixSeconds(kDateSecondsMax)) return std::nullopt;
    return from_us(absl::ToUnixMicros(time));
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_count(std::string_view text) {
  text = trimmed(text);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || !digit(text.front()) || error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return count >= std::int64_t{1} << 62 ? std::nullopt : std::optional(count);
}

std::optional<Wait> read_wait(std::string_view text, WaitForm form, const Instants& at) {
  text = trimmed(text);
  if (text.empty() || text.size() > kTextBytesMax) return std::nullopt;
  switch (form) {
    case WaitForm::number:
      return read_number(text, 1s, at, true);
    case WaitForm::seconds:
      return read_number(text, 1s, at, false);
    case WaitForm::milliseconds:
      return read_number(text, 1ms, at, false);
    case WaitForm::duration:
      return read_duration(text);
    case WaitForm::duration_or_seconds: {
      const auto wait = read_duration(text);
      return wait ? wait : read_number(text, 1s, at, false);
    }
    case WaitForm::time:
      return read_instant(text, at);
    case WaitForm::retry_after: {
      const auto wait = read_number(text, 1s, at, false);
      if (wait) return wait;
      const auto date = read_http_date(text);
      return date ? until(*date, at, 1s) : std::nullopt;
    }
    case WaitForm::any_form:
      break;
  }
  for (const WaitForm one : {WaitForm::number, WaitForm::duration, WaitForm::time})
    if (const auto wait = read_wait(text, one, at)) return wait;
  return std::nullopt;
}

}  // namespace dripgate::vendor
