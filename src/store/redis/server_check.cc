#include "store/redis/server_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "redis/info.h"

namespace dripgate::store {
namespace {

using Replies = std::vector<redis::NodeReply>;

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

std::optional<WallTime> time_of(const redis::Reply& reply) {
  const auto* items = reply.items();
  if (items == nullptr || items->size() != 2) return std::nullopt;
  const std::string* seconds = items->front().text();
  const std::string* rest = items->back().text();
  if (seconds == nullptr || rest == nullptr) return std::nullopt;
  const auto whole = number<std::int64_t>(*seconds);
  const auto us = number<std::int64_t>(*rest);
  if (!whole || !us) return std::nullopt;
  return WallTime{std::chrono::seconds{*whole} + Duration{*us}};
}

void ask_all(redis::Client& client, std::string_view word, std::move_only_function<void(Replies)> done) {
  const std::array<std::string_view, 1> words{word};
  client.each_primary(words, std::move(done));
}

std::string unchecked(const std::string& why) {
  return "could not be checked: " + why;
}

std::string seconds_text(Duration span) {
  return std::to_string(span / std::chrono::seconds{1}) + "." +
         std::to_string(span / std::chrono::milliseconds{100} % 10) + " s";
}

std::vector<ServerWarning> info_warnings_of(const Replies& infos) {
  std::vector<ServerWarning> found;
  for (const auto& [node, reply] : infos) {
    if (!reply) {
      found.push_back({node, unchecked(reply.error().detail)});
      continue;
    }
    const std::string* text = reply->text();
    for (std::string& warning : info_warnings(text == nullptr ? "" : *text))
      found.push_back({node, std::move(warning)});
  }
  return found;
}

std::vector<ServerWarning> clock_warnings_of(const Replies& times, WallTime before, WallTime after) {
  std::vector<ServerWarning> found;
  for (const auto& [node, reply] : times) {
    const auto shown = reply ? time_of(*reply) : std::nullopt;
    if (!shown) continue;  // INFO says why
    if (std::string warning = clock_warning(*shown, before, after); !warning.empty())
      found.push_back({node, std::move(warning)});
  }
  return found;
}

}  // namespace

std::vector<std::string> info_warnings(std::string_view info) {
  std::vector<std::string> warnings;
  const auto version = redis::info_field(info, "redis_version");
  const auto major = version ? number<int>(*version) : std::nullopt;
  if (!major) {
    warnings.push_back(unchecked("INFO names no redis_version"));
  } else if (*major < kRedisMajorMin) {
    warnings.push_back("is version " + std::string(*version) + "; the scripts need " +
                       std::to_string(kRedisMajorMin) + ".0 or later");
  }
  const auto policy = redis::info_field(info, "maxmemory_policy");
  if (!policy) {
    warnings.push_back(unchecked("INFO names no maxmemory_policy"));
  } else if (*policy != "noeviction" && redis::info_field(info, "maxmemory") != "0") {
    warnings.push_back(
        "has maxmemory-policy " + std::string(*policy) +
        ": full memory drops counters, which lifts their limits, bookings and events; set noeviction");
  }
  return warnings;
}

std::string clock_warning(WallTime redis, WallTime before, WallTime after) {
  const Duration behind = before - redis;
  const Duration ahead = redis - after;
  if (std::max(behind, ahead) <= kClockDifferenceMax) return {};
  return "has a clock " + seconds_text(std::max(behind, ahead)) + (ahead > behind ? " ahead of" : " behind") +
         " this host's; let NTP set both";
}

void check_servers(redis::Client& client, const Clock& host,
                   std::move_only_function<void(std::vector<ServerWarning>)> done) {
  struct Answers {
    std::optional<Replies> infos;
    std::vector<ServerWarning> clocks;
    bool clocks_known = false;
    std::move_only_function<void(std::vector<ServerWarning>)> done;
    void settle() {
      if (!infos || !clocks_known) return;
      std::vector<ServerWarning> found = info_warnings_of(*infos);
      found.insert(found.end(), clocks.begin(), clocks.end());
      done(std::move(found));
    }
  };
  auto answers = std::make_shared<Answers>();
  answers->done = std::move(done);
  // Both at once: the client may be gone when the first is answered.
  ask_all(client, "TIME", [&host, before = host.now(), answers](const Replies& times) {
    answers->clocks = clock_warnings_of(times, before, host.now());
    answers->clocks_known = true;
    answers->settle();
  });
  ask_all(client, "INFO", [answers](Replies infos) {
    answers->infos = std::move(infos);
    answers->settle();
  });
}

}  // namespace dripgate::store
