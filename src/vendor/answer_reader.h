// What one answer of a vendor says about its limits: the nine rules of vendor headers. Pure. Entry for use
// cases; rubbish in a header is absent: it neither freezes nor frees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vendor/profile.h"

namespace dripgate::vendor {

/// In wire order; names in any case; a name may repeat.
using AnswerHeaders = std::vector<std::pair<std::string, std::string>>;

enum class Refusal : std::uint8_t {
  none,         // whatever else went wrong, no limit did it
  rate,         // freeze
  concurrency,  // too many at once: lower the calls in flight, freeze nothing
  lock,         // one object is locked: try again, freeze nothing
};

/// What is left of one dimension, as of the response.
struct Report {
  std::string dimension;  // "requests", "tokens", ...
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> remaining{};
  std::optional<Wait> reset{};       // until there is more, from the response on
  std::optional<Duration> window{};  // of the limit that it speaks of
};

struct Reading {
  Refusal refusal = Refusal::none;
  bool answered = false;                  // by the vendor's application (a 404 too), and no refusal
  std::optional<Duration> retry_after{};  // of a refusal
  std::vector<Report> reports{};
  std::string resource{};  // which of a vendor's buckets answered ("search"); empty: it does not say
  int rubbish = 0;         // headers that are there and say nothing
};

struct VendorAnswer {
  int status = 0;
  AnswerHeaders headers{};
  std::string reason{};  // the vendor's own error code in the body, if the caller has read it
};

[[nodiscard]] Reading read_answer(const Profile& profile, const VendorAnswer& answer, WallTime now);

}  // namespace dripgate::vendor
