// The waits that vendors write into headers: numbers of several units, durations, dates. Pure: `now` is an
// argument. Used by answer_reader. The whole text must be one form; anything else is absent, never zero and
// never forever.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace dripgate::vendor {

/// How a profile says a wait is written. Every form but `any_form` refuses the others.
enum class WaitForm : std::uint8_t {
  any_form,      // by size and shape: a number (below), a Go duration, an ISO time span, a time or a date
  number,        // by size: < 1e9 seconds from now, < 1e11 epoch s, < 1e14 epoch ms, < 1e17 epoch us
  seconds,       // from now, with a fraction or without
  milliseconds,  // from now
  duration,      // "6m0s", "17ms", "PT30S"
  duration_or_seconds,
  time,         // RFC 3339, also without seconds; HTTP dates
  retry_after,  // seconds or an HTTP date in any of the three forms of RFC 9110
};

/// What times are compared with: the response's Date, so that a wrong local clock does not matter.
struct Instants {
  WallTime now;
  std::optional<WallTime> date;  // of the response

  [[nodiscard]] WallTime reference() const { return date.value_or(now); }
};

/// A wait from the response on, rounded up to 1 us; what is past is 0.
struct Wait {
  Duration wait{};
  Duration resolution{};  // the vendor rounded to this: it may really be so much less

  friend bool operator==(const Wait&, const Wait&) = default;
};

[[nodiscard]] std::optional<Wait> read_wait(std::string_view text, WaitForm form, const Instants& at);
/// "Fri, 15 Jan 2027 08:02:00 GMT" and the obsolete forms of RFC 850 and asctime.
[[nodiscard]] std::optional<WallTime> read_http_date(std::string_view text);
/// Plain digits that fit 62 bits. Vendors say "unknown" with -1: absent.
[[nodiscard]] std::optional<std::int64_t> read_count(std::string_view text);
/// Without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace dripgate::vendor
