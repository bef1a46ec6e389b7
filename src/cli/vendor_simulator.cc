#include "cli/vendor_simulator.h"

#include <algorithm>
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/rfc3339.h"

namespace dripgate::cli {
namespace {

using namespace std::chrono_literals;

std::string whole_seconds(Duration wait) {
  return fmt::format("{}", (wait + 1s - Duration{1}) / 1s);
}
std::string epoch_seconds(WallTime time) {
  return fmt::format("{}", (to_us(time) + 999'999) / 1'000'000);
}
std::string go_duration(Duration wait) {
  return fmt::format("{}ms", (wait + 1ms - Duration{1}) / 1ms);
}
std::string http_date(WallTime time) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                     fmt::gmtime(static_cast<std::time_t>(to_us(time) / 1'000'000)));
}

}  // namespace

bool VendorSimulator::Count::take(std::int64_t limit, std::int64_t now_window) {
  if (window != now_window) *this = {.window = now_window, .units = 0};
  if (units >= limit) return false;
  ++units;
  return true;
}

http::Headers VendorSimulator::headers(WallTime here, Duration left, bool refused) const {
  const std::string limit = std::to_string(play_.limit);
  const std::string remaining = std::to_string(std::max<std::int64_t>(0, play_.limit - primary_.units));
  const WallTime reset = here + left;
  http::Headers out{{"Date", http_date(here)}};
  const auto add = [&out](std::string name, std::string value) {
    out.emplace_back(std::move(name), std::move(value));
  };
  const std::string& profile = play_.profile;
  if (profile == "github" || profile == "x") {
    const std::string prefix = profile == "x" ? "x-rate-limit-" : "x-ratelimit-";
    add(prefix + "limit", limit);
    add(prefix + "remaining", remaining);
    add(prefix + "reset", epoch_seconds(reset));
    return out;  // and no Retry-After: the reset is what to wait for
  }
  if (profile == "hubspot") {
    add("X-HubSpot-RateLimit-Max", limit);
    add("X-HubSpot-RateLimit-Remaining", remaining);
    add("X-HubSpot-RateLimit-Interval-Milliseconds", std::to_string(play_.window / 1ms));
  } else if (profile == "openai" || profile == "azure-openai") {
    add("x-ratelimit-limit-requests", limit);
    add("x-ratelimit-remaining-requests", remaining);
    add("x-ratelimit-reset-requests", go_duration(left));
    if (refused) add("retry-after-ms", std::to_string((left + 1ms - Duration{1}) / 1ms));
  } else if (profile == "anthropic") {
    add("anthropic-ratelimit-requests-limit", limit);
    add("anthropic-ratelimit-requests-remaining", remaining);
    add("anthropic-ratelimit-requests-reset", format_rfc3339(reset));
  } else if (profile == "shopify") {
    add("X-Shopify-Shop-Api-Call-Limit", fmt::format("{}/{}", std::min(primary_.units, play_.limit), limit));
  } else if (profile == "discord") {
    add("X-RateLimit-Limit", limit);
    add("X-RateLimit-Remaining", remaining);
    add("X-RateLimit-Reset-After", fmt::format("{:.3f}", static_cast<double>(left.count()) / 1e6));
  } else if (profile != "slack" && profile != "stripe" && profile != "google") {
    add("RateLimit-Policy", fmt::format("\"default\";q={};w={}", limit, whole_seconds(play_.window)));
    add("RateLimit", fmt::format("\"default\";r={};t={}", remaining, whole_seconds(left)));
  }
  if (refused) add("Retry-After", whole_seconds(left));
  return out;
}

http::Response VendorSimulator::answer(WallTime now) {
  const WallTime here = now + play_.skew;
  const auto window = to_us(here) / play_.window.count();
  const Duration left = play_.window * (window + 1) - here.time_since_epoch();
  const auto minute = to_us(here) / 60'000'000;
  if (play_.secondary > 0 && !secondary_.take(play_.secondary, minute)) {
    ++refused_;
    return {.status = play_.profile == "github" ? 403 : 429,
            .headers = {{"Date", http_date(here)},
                        {"Retry-After",
                         whole_seconds(Duration{60'000'000} * (minute + 1) - here.time_since_epoch())}},
            .body = "{\"message\":\"You have exceeded a secondary rate limit\"}\n"};
  }
  const bool taken = primary_.take(play_.limit, window);
  ++(taken ? served_ : refused_);
  http::Response response{.status = taken ? 200 : 429, .headers = headers(here, left, !taken), .body = {}};
  response.body = taken ? "{\"ok\":true}\n" : "{\"message\":\"rate limit exceeded\"}\n";
  return response;
}

}  // namespace dripgate::cli
