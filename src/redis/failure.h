// Failure: why a call has no Reply, with what the layers between the socket and the caller act on. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "redis/options.h"
#include "redis/reply.h"

namespace dripgate::redis {

enum class FailureKind : std::uint8_t {
  unsent,       // no connection, full, or the deadline came first: it did not happen
  unknown,      // sent, and no answer: it may have happened
  moved,        // another node serves the slot: `target`
  ask,          // another node has the key while its slot moves: `target`
  try_again,    // the keys of one call are on both sides of a moving slot
  no_script,    // EVALSHA of a text that this node has not seen
  not_primary,  // READONLY, MASTERDOWN: look for the primary again
  down,         // LOADING, CLUSTERDOWN, NOREPLICAS, BUSY, ...: the node says not now
  refused,      // Redis' answer to what was asked: asking again does not help
};

struct Failure {
  FailureKind kind{};
  Error error{};
  Endpoint target{};  // of moved and ask; an empty host: the host that was asked
};

using Outcome = std::expected<Reply, Failure>;
using Answered = std::move_only_function<void(Outcome)>;

/// What an error reply of `node` means.
[[nodiscard]] Failure classify(std::string_view text, std::string_view node);
/// "redis 127.0.0.1:6379: " in front of what happened.
[[nodiscard]] std::string at_node(std::string_view node, std::string_view what);
[[nodiscard]] Failure unsent(ErrorCode code, std::string_view node, std::string_view why);
[[nodiscard]] Failure unknown_outcome(std::string_view node, std::string_view why);
/// "host:port", with an IPv6 host in brackets or without, as Redis writes it.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace dripgate::redis
