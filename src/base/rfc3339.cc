// See the header.
#include "base/rfc3339.h"

#include <algorithm>
#include <charconv>

namespace dripgate {
namespace {

using namespace std::chrono;

constexpr WallTime kFirst = sys_days{year{0} / January / 1};
constexpr WallTime kLast = sys_days{year{10000} / January / 1} - microseconds{1};

void pad(std::string& out, std::int64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

/// Reads from the front; every step fails for good once one has failed.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  int number(std::size_t digits, int min, int max) {
    int value = 0;
    if (text_.size() < digits || !all_digits(text_.substr(0, digits))) return ok_ = false, min;
    std::from_chars(text_.data(), text_.data() + digits, value);
    text_.remove_prefix(digits);
    if (value < min || value > max) ok_ = false;
    return value;
  }
  void literal(char upper, char lower) {
    if (!at(upper) && !at(lower)) {
      ok_ = false;
    } else {
      text_.remove_prefix(1);
    }
  }
  void literal(char c) { literal(c, c); }
  [[nodiscard]] bool at(char c) const { return !text_.empty() && text_.front() == c; }

  /// ".25" as microseconds; nothing is zero.
  Duration fraction() {
    if (!at('.')) return Duration{0};
    text_.remove_prefix(1);
    std::int64_t us = 0;
    std::size_t digits = 0;
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1), ++digits)
      if (digits < 6) us = us * 10 + (text_.front() - '0');
    if (digits == 0) ok_ = false;
    for (; digits < 6; ++digits) us *= 10;
    return Duration{us};
  }
  Duration offset() {
    if (!at('+') && !at('-')) return literal('Z', 'z'), Duration{0};
    const bool behind = at('-');
    text_.remove_prefix(1);
    const Duration hour_part = hours{number(2, 0, 23)};
    literal(':');
    const Duration offset = hour_part + minutes{number(2, 0, 59)};
    return behind ? -offset : offset;
  }
  void fail() { ok_ = false; }
  [[nodiscard]] bool finished() const { return ok_ && text_.empty(); }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool all_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::string format_rfc3339(WallTime time, Fraction fraction) {
  time = std::clamp(time, kFirst, kLast);
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss<microseconds> clock{time - day};
  std::string out;
  pad(out, int{date.year()}, 4);
  pad(out += '-', unsigned{date.month()}, 2);
  pad(out += '-', unsigned{date.day()}, 2);
  pad(out += 'T', clock.hours().count(), 2);
  pad(out += ':', clock.minutes().count(), 2);
  pad(out += ':', clock.seconds().count(), 2);
  const std::int64_t us = clock.subseconds().count();
  if (fraction == Fraction::milliseconds || (us != 0 && us % 1000 == 0)) {
    pad(out += '.', us / 1000, 3);
  } else if (us != 0) {
    pad(out += '.', us, 6);
  }
  return out += 'Z';
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  Reader in(text);
  const int y = in.number(4, 0, 9999);
  in.literal('-');
  const int m = in.number(2, 1, 12);
  in.literal('-');
  const int d = in.number(2, 1, 31);
  in.literal('T', 't');
  const int hour = in.number(2, 0, 23);
  in.literal(':');
  const int minute = in.number(2, 0, 59);
  in.literal(':');
  const int second = in.number(2, 0, 60);
  const Duration fraction = in.fraction();
  const Duration offset = in.offset();
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!date.ok()) in.fail();
  WallTime time = sys_days{date} + hours{hour} + minutes{minute} + seconds{second} - offset;
  if (second == 60 && (time - floor<days>(time)) != Duration{0}) in.fail();
  if (!in.finished())
    return fail(ErrorCode::invalid_argument, "'" + std::string(text.substr(0, 64)) +
                                                 "' is not a time; accepted is RFC 3339, like "
                                                 "2026-08-03T14:02:00Z or 2026-08-03T16:02:00.5+02:00");
  return time + fraction;
}

}  // namespace dripgate
