// ConfigReport: which config an instance runs, as it stands in Redis for operators to read. One hash of the
// deployment, in which what is old goes; written by config_topic, read by fleet. Pure. Every process is one;
// the number that shares the limits is store/redis/instances.h's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "server/stream_service.h"

namespace dripgate::app {

/// Behind the messages of the config topic, which may be lost: how often an instance looks at the number of
/// the last one, and repeats its report.
inline constexpr Duration kConfigPollEvery = std::chrono::seconds{30};
/// An instance that has not reported for so long is gone: three polls and what a slow call takes.
inline constexpr Duration kConfigReportKept = std::chrono::seconds{100};
/// Of the sentence that says why a file was refused.
inline constexpr std::size_t kRefusalBytesMax = 1024;

struct ConfigReport {
  std::string instance{};  // host-pid-random: no other process has it
  std::string part{};      // "up", "serve", "worker", "dispatch", "consume"
  server::ConfigState config{};
  Duration age{};  // since it was heard of, by Redis' clock; filled in by the reader
};

/// The names of a deployment in Redis. They share a hash tag.
struct ConfigKeys {
  explicit ConfigKeys(const std::string& key_prefix)
      : reload(key_prefix + "{cfg}:reload"),
        seen(key_prefix + "{cfg}:seen"),
        reports(key_prefix + "{cfg}:reports") {}

  std::string reload;   // how many reloads were asked for, and the name of the topic's channel
  std::string seen;     // when each instance was heard of
  std::string reports;  // what each said
};

/// Without instance and age, which stand beside it.
[[nodiscard]] std::string to_text(const ConfigReport& report);
/// Errors: corrupt.
[[nodiscard]] Result<ConfigReport> read_config_report(std::string instance, Duration age,
                                                      std::string_view text);

}  // namespace dripgate::app
