// A Reading as one line, so that a case is one row.
#pragma once

#include <string>

#include "vendor/answer_reader.h"

namespace dripgate::testing {

using namespace std::chrono_literals;

inline std::string shown_us(Duration d) {
  const auto us = d.count();
  if (us % 1'000'000 == 0) return std::to_string(us / 1'000'000) + "s";
  if (us % 1000 == 0) return std::to_string(us / 1000) + "ms";
  return std::to_string(us) + "us";
}

/// "rate 60s | requests 0/5000 in 45s" : refusal and wait; per report remaining/limit, per window, until
/// reset.
inline std::string shown(const vendor::Reading& reading) {
  using vendor::Refusal;
  std::string out = reading.refusal == Refusal::rate          ? "rate"
                    : reading.refusal == Refusal::concurrency ? "concurrency"
                    : reading.refusal == Refusal::lock        ? "lock"
                    : reading.answered                        ? "ok"
                                                              : "failed";
  if (reading.retry_after) out += " " + shown_us(*reading.retry_after);
  for (const vendor::Report& one : reading.reports) {
    out += " | " + one.dimension + " " + (one.remaining ? std::to_string(*one.remaining) : "?") + "/" +
           (one.limit ? std::to_string(*one.limit) : "?");
    if (one.window) out += " per " + shown_us(*one.window);
    if (one.reset) out += " in " + shown_us(one.reset->wait);
  }
  return out;
}

/// T0 of the bug reports: Fri, 15 Jan 2027 08:00:00 GMT.
inline constexpr WallTime kT0{Duration{1'800'000'000'000'000}};

inline std::string read(const std::string& profile, int status, vendor::AnswerHeaders headers,
                        WallTime now = kT0, std::string reason = "") {
  return shown(vendor::read_answer(
      *vendor::find_profile(profile),
      {.status = status, .headers = std::move(headers), .reason = std::move(reason)}, now));
}

}  // namespace dripgate::testing
