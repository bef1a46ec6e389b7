// Profile: how one vendor writes its limits, as a table. Pure. The vendors' own documents are summed up in
// the tests (tests/unit/vendor/vendor_table_test.cc), a row each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vendor/wait_text.h"

namespace dripgate::vendor {

/// What one header says.
enum class Part : std::uint8_t {
  limit,
  remaining,
  used,
  used_of_limit,    // "32/40"; in a list the value behind `inner`
  named_remaining,  // "Microsoft.Compute/HighCostGet3Min;46", may repeat: the least counts
  reset,
  window_ms,        // the window's length
  reset_in_fields,  // "total=100; remaining=99; resets=41"
};

struct Field {
  std::string_view name;  // lower case
  Part part = Part::remaining;
  std::string_view dimension = "requests";
  Duration window{};                   // of what it counts; 0: not said
  WaitForm form = WaitForm::any_form;  // of a reset
  std::string_view inner{};            // used_of_limit: the name in front of the value
};

struct Profile {
  std::string_view name;
  std::span<const Field> fields;
  Duration default_freeze{};          // of a refusal that names no wait; 0: the floor alone
  bool forbidden_may_refuse = false;  // a 403 with a wait, with nothing left or with a reason is a refusal
  bool unavailable_refuses = false;   // a 503 is one, with Retry-After or without
  std::span<const std::string_view> reasons{};  // in `reason`, at any status: a refusal
};

/// Null: no such profile.
[[nodiscard]] const Profile* find_profile(std::string_view name);
/// "anthropic, apisix, ...": for messages.
[[nodiscard]] std::string profile_names();

}  // namespace dripgate::vendor
