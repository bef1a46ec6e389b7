// Endpoints: the address to listen on and URLs to deliver to. Used by the server and delivery readers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/report.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};

/// "127.0.0.1:8080", "[::1]:8080", "localhost:8080".
[[nodiscard]] std::optional<HostPort> read_listen(const Node& node, Report& report);
/// Only this machine can reach the host.
[[nodiscard]] bool is_loopback(std::string_view host);

/// http:// or https:// with a host and without user names; empty: reported.
[[nodiscard]] std::string read_url(const Node& node, std::string_view what, Report& report);

/// "host:port" of a server to connect to; without a port `absent`, where 0 stands for: it must be written.
[[nodiscard]] std::optional<HostPort> read_node(const Node& node, std::string_view what, std::uint16_t absent,
                                                Report& report);

struct RedisUrl {
  HostPort at;
  std::string user;
  std::string password;
  int database = 0;
  bool tls = false;
};
/// "redis://[user[:password]@]host[:port][/database]", "rediss://" over TLS. What is wrong, without the text:
/// it may hold a password; empty: nothing.
[[nodiscard]] std::string_view parse_redis_url(std::string_view text, RedisUrl& url);

}  // namespace dripgate::config
