// Cases of a user's own policies as text, for `dripgate lint --cases FILE`: one request a line with the
// answer that it must get. Pure.
//
//   # facts, then "->", then the answer; "+TIME" from the start of the file, "Nx" times, all answered so
//   +0s    20x plan=free apiKey=k           -> allow
//   +0s    plan=free apiKey=k               -> deny policy api-free wait 600ms
//   +0.6s  plan=free apiKey=k cost 1        -> allow remaining 0
//   +1s    route="POST /auth/login" ip=::1  -> allow policy login
//   +1s    plan=gold                        -> allow policy none
//
// Answers: allow, deny, impossible, missing_key. `policy` is the one that decides (none: no limit took part).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/check.h"

namespace dripgate::cli {

/// Of one file.
inline constexpr std::size_t kCaseLinesMax = 100'000;
inline constexpr std::size_t kWrongLinesNamedMax = 20;
inline constexpr std::int64_t kCaseTimesMax = 1'000'000;

struct CaseLine {
  int number = 0;  // 1-based
  Duration at{};
  std::int64_t times = 1;
  check::Request request;
  check::Kind kind = check::Kind::allowed;
  std::optional<std::string> policy{};  // id; "none"
  std::optional<core::Units> remaining{};
  std::optional<Duration> wait{};
};

/// Errors: invalid_argument; "line 3: ..." per wrong line, each on a line of its own.
[[nodiscard]] Result<std::vector<CaseLine>> read_cases(std::string_view text);

/// What differs from what the line expects, as one sentence; empty: nothing.
[[nodiscard]] std::string difference(const CaseLine& line, const check::Answer& answer);

}  // namespace dripgate::cli
