// ConfigSource: the config of a Limiter or a Scheduler: a file that is looked at again, a text, or what was
// written in code. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "dripgate/limiter.h"
#include "embed/host.h"

namespace dripgate::embed {

/// What the options say; exactly one of the three.
struct Origin {
  std::string file;
  std::string text;
  std::string code;  // embed/code_config.h
  std::string code_name;
  v1::Environment environment;  // empty: the process' own
};

/// One line per error, else per warning.
[[nodiscard]] Error refusal(const std::vector<config::Problem>& problems);

class ConfigSource : public std::enable_shared_from_this<ConfigSource> {
 public:
  /// Hears of every look at the file that changed or refused something.
  using Heard = std::function<void(bool changed, const std::vector<std::string>& problems)>;

  /// Errors: invalid_argument, one line per problem.
  static Result<std::shared_ptr<ConfigSource>> open(const Origin& origin, Heard heard);

  [[nodiscard]] config::ConfigPtr get() const { return snapshot_.get(); }
  /// True: another set is in force. Error: invalid_argument; the set in force stays.
  Result<bool> reload();
  /// Looks every `every` on the loop of `host`, until this ends.
  void watch(Host& host, Duration every);

 private:
  ConfigSource(config::ConfigPtr first, config::Environment environment, bool of_file, Heard heard)
      : snapshot_(std::move(first), std::move(environment)), of_file_(of_file), heard_(std::move(heard)) {}

  config::Snapshot snapshot_;
  const bool of_file_;
  const Heard heard_;
};

/// The host that the options name, else the config's.
[[nodiscard]] Result<HostPtr> host_for(const std::optional<v1::Store>& store, const config::Config& config);

}  // namespace dripgate::embed
