// What config, JSON and metrics call algorithms and failure modes: one spelling, read and written.
#pragma once

#include <string_view>
#include <utility>

#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::core {

[[nodiscard]] constexpr std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::token_bucket:
      return "token-bucket";
    case Algorithm::sliding_log:
      return "sliding-log";
    case Algorithm::fixed_window:
      return "fixed-window";
  }
  std::unreachable();
}

[[nodiscard]] constexpr std::string_view to_string(FailureMode mode) {
  switch (mode) {
    case FailureMode::local:
      return "local";
    case FailureMode::open:
      return "open";
    case FailureMode::closed:
      return "closed";
  }
  std::unreachable();
}

}  // namespace dripgate::core
