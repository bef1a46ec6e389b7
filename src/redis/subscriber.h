// Subscriber: the messages of pub/sub channels, on a connection of its own that comes back by itself. Pub/sub
// loses what is sent while nobody listens: pair it with something that is polled.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/io_loop.h"
#include "redis/options.h"

namespace dripgate::redis {

/// A connection that says nothing for one to two of these, asked PING, is given up.
inline constexpr Duration kSubscriberPingEvery = 5s;

/// Before a subscription that Redis refused to this user is asked for again.
inline constexpr Duration kSubscribeRefusedRetry = 30s;

struct SubscriberHandlers {
  /// Runs on the loop. The texts are gone when it returns.
  std::move_only_function<void(std::string_view channel, std::string_view message)> on_message;
  /// Listening now, for the first time or again: messages before it may have been missed. May be empty.
  std::move_only_function<void()> on_listening{};
  /// Redis refuses to this user what it is asked (NOPERM for a channel); it is asked again. May be empty.
  std::move_only_function<void(const Error&)> on_refused{};
};

class Subscriber {
 public:
  /// After it no handler runs. On the loop's thread, or when the loop does not run.
  virtual ~Subscriber() = default;
};

/// Listens to `channels` (at least one): at the one server, at the primary that the Sentinels name, or at any
/// node of the cluster (PUBLISH reaches all). Errors: invalid_argument (no node, no channel, TLS files).
[[nodiscard]] Result<std::unique_ptr<Subscriber>> subscribe(net::IoLoop& loop, Options options,
                                                            const std::vector<std::string>& channels,
                                                            SubscriberHandlers handlers);

}  // namespace dripgate::redis
