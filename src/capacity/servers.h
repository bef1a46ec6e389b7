// What the primaries say about themselves in INFO, which managed services have too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/io_loop.h"
#include "redis/client.h"

namespace dripgate::capacity {

/// Sums over the primaries that answered.
struct ServerUse {
  std::vector<std::string> nodes;   // "host:port, Redis 7.0.15"
  std::vector<std::string> silent;  // those that do not answer
  std::optional<double> memory;     // bytes in use, without buffers of clients and of the append-only file
  std::optional<double> cpu_us;     // of the threads that run commands, since their start
};

[[nodiscard]] ServerUse use_of(const std::vector<redis::NodeReply>& infos);
/// Asks now and waits.
[[nodiscard]] ServerUse ask_use(net::IoLoop& loop, redis::Client& client);

/// "name:number" in INFO's text. Pure.
[[nodiscard]] std::optional<double> info_number(std::string_view info, std::string_view name);

}  // namespace dripgate::capacity
