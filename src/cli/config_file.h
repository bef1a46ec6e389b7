// The config file of a verb that works in this process.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"

namespace dripgate::cli {

/// Of {env: NAME} in a config.
[[nodiscard]] std::optional<std::string> environment(const std::string& name);
/// Prints what is wrong with it. Empty: it does not load.
[[nodiscard]] std::optional<config::Config> load_config(const std::string& path);
/// Its store, for verbs that ask Redis themselves. Mistakes elsewhere in the file are printed and do not
/// matter: who looks how a reload went has such a file. Empty: the store does not load, or is another; that
/// is printed.
[[nodiscard]] std::optional<config::RedisStore> load_redis_store(const std::string& path);

}  // namespace dripgate::cli
