#include "cli/config_file.h"

#include <cstdlib>
#include <utility>

#include "cli/console.h"

namespace dripgate::cli {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::optional<config::Config> load_config(const std::string& path) {
  config::Loaded loaded = config::load(path, environment);
  for (const config::Problem& problem : loaded.problems) complain(to_string(problem));
  return std::move(loaded.config);
}

std::optional<config::RedisStore> load_redis_store(const std::string& path) {
  config::Loaded loaded = config::load(path, environment);
  for (const config::Problem& problem : loaded.problems) complain(to_string(problem));
  if (!loaded.store && !loaded.config) return std::nullopt;
  if (loaded.store) {
    if (auto* store = std::get_if<config::RedisStore>(&*loaded.store)) return std::move(*store);
  }
  complain(path + " has no Redis; accepted: a config with store: { redis: ... }");
  return std::nullopt;
}

}  // namespace dripgate::cli
