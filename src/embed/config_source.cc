#include "embed/config_source.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dripgate::embed {
namespace {

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> lines_of(const std::vector<config::Problem>& problems) {
  std::vector<std::string> lines;
  for (const config::Problem& problem : problems) lines.push_back(to_string(problem));
  return lines;
}

config::Loaded loaded_from(const Origin& origin, const config::Environment& environment) {
  if (!origin.file.empty()) return config::load(origin.file, environment);
  if (!origin.text.empty()) return config::parse(origin.text, "config text", environment);
  return config::parse(origin.code, origin.code_name, environment);
}

}  // namespace

Error refusal(const std::vector<config::Problem>& problems) {
  const bool errors = std::ranges::any_of(problems, [](const auto& problem) { return !problem.warning; });
  Error error{.code = ErrorCode::invalid_argument, .transient = false, .detail = {}};
  for (const config::Problem& problem : problems) {
    if (errors && problem.warning) continue;
    if (!error.detail.empty()) error.detail += '\n';
    error.detail += to_string(problem);
  }
  return error;
}

Result<std::shared_ptr<ConfigSource>> ConfigSource::open(const Origin& origin, Heard heard) {
  const int said = int{!origin.file.empty()} + int{!origin.text.empty()} + int{!origin.code.empty()};
  if (said != 1) {
    return fail(
        ErrorCode::invalid_argument,
        "the options say " + std::string(said == 0 ? "nothing" : "more than one thing") +
            " to be limited by; accepted: one of config_file, config_text or what is written in code");
  }
  config::Environment environment = origin.environment ? origin.environment : &process_environment;
  config::Loaded loaded = loaded_from(origin, environment);
  if (!loaded.config) return std::unexpected(refusal(loaded.problems));
  auto first = std::make_shared<const config::Config>(*std::move(loaded.config));
  return std::shared_ptr<ConfigSource>(
      new ConfigSource(std::move(first), std::move(environment), !origin.file.empty(), std::move(heard)));
}

Result<bool> ConfigSource::reload() {
  if (!of_file_) return false;
  const config::ReloadResult result = snapshot_.reload();
  if (heard_ && (result.changed || (result.refused && !result.repeated)))
    heard_(result.changed, lines_of(result.problems));
  if (result.refused) return std::unexpected(refusal(result.problems));
  return result.changed;
}

void ConfigSource::watch(Host& host, Duration every) {
  if (!of_file_ || every <= Duration{0}) return;
  host.loop().post_after_real(every, [&host, every, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    static_cast<void>(self->reload());  // who wants to know has said so: heard_
    self->watch(host, every);
  });
}

Result<HostPtr> host_for(const std::optional<v1::Store>& store, const config::Config& config) {
  if (store) return store->impl();
  return open_host(config.store);
}

}  // namespace dripgate::embed
