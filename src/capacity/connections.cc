#include "capacity/connections.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "capacity/bench.h"
#include "capacity/drive.h"
#include "redis/make_client.h"

namespace dripgate::capacity {
namespace {

/// Errors: of the first primary that does not answer.
Result<void> all_answer(const std::vector<redis::NodeReply>& replies) {
  for (const redis::NodeReply& node : replies) {
    if (!node.reply) return std::unexpected(node.reply.error());
  }
  return {};
}

Result<void> wait_until_connected(net::IoLoop& loop, redis::Client& client) {
  static constexpr std::array<std::string_view, 1> kPing{"PING"};
  const MonoTime end = loop.now() + kConnectWait;
  while (true) {
    auto answered = std::make_shared<std::optional<Result<void>>>();
    client.each_primary(
        kPing, [answered](const std::vector<redis::NodeReply>& replies) { *answered = all_answer(replies); });
    if (!drive(loop, [&] { return answered->has_value(); }, kConnectWait))
      return fail(ErrorCode::timed_out, "redis: no answer to PING", true);
    if (answered->value() || loop.now() >= end) return std::move(answered->value());
  }
}

}  // namespace

Result<Connections> Connections::open(net::IoLoop& loop, const redis::Options& options,
                                      const store::RedisStoreOptions& store, std::size_t count) {
  Connections all;
  for (std::size_t i = 0; i < count; ++i) {
    auto client = redis::make_client(loop, options);
    if (!client) return std::unexpected(std::move(client.error()));
    // One after another: a server's queue of new connections is short.
    if (auto connected = wait_until_connected(loop, **client); !connected)
      return std::unexpected(std::move(connected.error()));
    auto counters = store::make_redis_counter_store(**client, store);
    all.sites_.push_back({std::move(*client), std::move(counters)});
  }
  return all;
}

}  // namespace dripgate::capacity
