// Limit: a quota per window for one key. The three algorithms share one description.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "base/zone.h"

namespace dripgate::core {

/// Units of a limit that one request or event uses; default 1.
using Units = std::int64_t;

enum class Algorithm : std::uint8_t { fixed_window, sliding_log, token_bucket };

struct Limit {
  Algorithm algorithm = Algorithm::fixed_window;
  Units limit = 0;     // units per window; token bucket: units refilled per window. 0 admits nobody (bucket:
                       // never refills)
  Duration window{};   // span of the window; token bucket: refill period; calendar day: 24 h, nominal
  Units capacity = 0;  // token bucket: burst. Elsewhere equal to limit
  std::shared_ptr<const Zone>
      zone;  // set on a fixed window: windows are the calendar days of this zone, else aligned to the epoch

  /// The largest cost that can ever be admitted; anything above is IMPOSSIBLE.
  [[nodiscard]] Units max_cost() const { return algorithm == Algorithm::token_bucket ? capacity : limit; }
};

/// "RPS", "RPM", "RPH", "RPD", else "7/90s": semantics.md section 6, windowType.
[[nodiscard]] std::string window_type(const Limit& limit);

/// Same algorithm, window and zone: state carries over and only the numbers changed.
[[nodiscard]] bool same_shape(const Limit& a, const Limit& b);

}  // namespace dripgate::core
