#include "base/result.h"

namespace dripgate {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::newer_version:
      return "newer_version";
    case ErrorCode::locked:
      return "locked";
    case ErrorCode::full:
      return "full";
    case ErrorCode::clock_stepped_back:
      return "clock_stepped_back";
    case ErrorCode::io:
      return "io";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace dripgate
