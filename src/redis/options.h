// Options: where a Redis deployment is, who asks, and the bounds of one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "net/tls_files.h"

namespace dripgate::redis {

/// Calls of one connection sent and not answered (late ones included), or waiting to be sent: what a Redis of
/// 200,000 calls/s answers within the default timeout.
inline constexpr std::size_t kInFlightMax = 1024;
/// Bytes of one connection that wait to be written.
inline constexpr std::size_t kQueuedBytesMax = 64u << 20;
/// Name look-up, TCP, TLS, AUTH and the rest of a greeting together.
inline constexpr Duration kConnectTimeout = 1s;
/// Before a lost connection is tried again: doubled from one failure to the next, half of it random.
inline constexpr Duration kReconnectMin = 10ms;
inline constexpr Duration kReconnectMax = 500ms;
/// A connection that answers nothing for so long while late calls wait is given up.
inline constexpr Duration kSilenceMax = 1s;
/// Of Client::each_primary.
inline constexpr Duration kEachPrimaryTimeout = 2s;

struct Endpoint {
  std::string host;
  std::uint16_t port = 6379;

  [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

struct Options {
  enum class Layout : std::uint8_t { single, cluster, sentinel };
  Layout layout = Layout::single;
  std::vector<Endpoint> nodes{};        // single: one; cluster: where to begin; sentinel: the Sentinels
  std::string sentinel_master{};        // the name that the Sentinels know
  std::string user{};                   // empty: the default user
  std::string password{};               // empty: no AUTH
  std::string sentinel_password{};      // of the Sentinels' default user; empty: no AUTH there
  int database = 0;                     // single and sentinel only
  std::string name = "dripgate";        // CLIENT SETNAME, where the user may
  std::optional<net::ClientTls> tls{};  // set: every connection is TLS, and certificates name their hosts
  Duration timeout = 5ms;               // of one call
  std::size_t in_flight_max = kInFlightMax;
  std::size_t queued_bytes_max = kQueuedBytesMax;
};

}  // namespace dripgate::redis
