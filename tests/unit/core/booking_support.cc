#include "unit/core/booking_support.h"

#include <cstdio>

namespace dripgate::testing {

std::string ms_text(WallTime t) {
  const std::int64_t us = to_us(t);
  std::string result = std::to_string(us / 1000);
  if (us % 1000 == 0) return result;
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03d", static_cast<int>(us % 1000));
  return result + fraction;
}

std::string text(const core::ReserveAnswer& answer) {
  switch (answer.outcome) {
    case core::ReserveOutcome::now:
      return "NOW";
    case core::ReserveOutcome::at:
      return "AT " + ms_text(answer.slot);
    case core::ReserveOutcome::beyond_horizon:
      return "BEYOND " + ms_text(answer.slot);
    case core::ReserveOutcome::impossible:
      return "IMPOSSIBLE";
    case core::ReserveOutcome::duplicate:
      return "DUPLICATE";
    case core::ReserveOutcome::conflict:
      return "CONFLICT";
  }
  return "?";
}

std::string text(const core::GateAnswer& answer) {
  switch (answer.outcome) {
    case core::GateOutcome::go:
      return "GO";
    case core::GateOutcome::rebook:
      return "REBOOK " + ms_text(answer.slot);
    case core::GateOutcome::beyond_horizon:
      return "BEYOND " + ms_text(answer.slot);
    case core::GateOutcome::impossible:
      return "IMPOSSIBLE";
    case core::GateOutcome::duplicate:
      return "DUPLICATE";
  }
  return "?";
}

}  // namespace dripgate::testing
