#include "redis/sentinels.h"

#include <algorithm>
#include <array>

#include "net/io_loop_impl.h"
#include "redis/encode.h"
#include "redis/sentinel_answer.h"

namespace dripgate::redis {
namespace {

// Of one Sentinel; then the next is asked.
constexpr Duration kSentinelTimeout = 300ms;

constexpr std::string_view kSwitchMaster = "+switch-master";

}  // namespace

Sentinels::Sentinels(net::IoLoop& loop, std::vector<Endpoint> nodes, std::string master,
                     ConnectionSetup setup)
    : loop_(loop),
      nodes_(std::move(nodes)),
      master_(std::move(master)),
      setup_(std::move(setup)),
      dialer_(std::make_shared<Dialer>(loop.impl()->context, setup_.identity, setup_.tls, kSentinelTimeout)) {
}

Awaitable<Result<Endpoint>> Sentinels::locate() {
  Error last;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Result<Endpoint> primary = co_await ask(nodes_[i]);
    if (primary) {
      std::rotate(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(i),
                  nodes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      co_return primary;
    }
    last = std::move(primary.error());
  }
  co_return fail(ErrorCode::unavailable, "no Sentinel names the primary '" + master_ + "': " + last.detail,
                 true);
}

Awaitable<Result<Endpoint>> Sentinels::ask(Endpoint sentinel) {
  const std::string question =
      encode(std::array<std::string_view, 3>{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_});
  const Result<Reply> reply = co_await dialer_->ask(sentinel, question);
  if (!reply) co_return std::unexpected(reply.error());
  if (const auto primary = master_address(*reply)) co_return *primary;
  co_return fail(ErrorCode::unavailable, at_node(sentinel.text(), "knows no master of that name"), true);
}

void Sentinels::watch(const std::function<void(const Endpoint&)>& switched) {
  const std::string wire = encode(std::array<std::string_view, 2>{"SUBSCRIBE", kSwitchMaster});
  for (const Endpoint& node : nodes_) {
    SubscriberHandlers handlers;
    handlers.on_message = [weak = weak_from_this(), switched](std::string_view, std::string_view message) {
      if (const auto self = weak.lock()) self->announced(message, switched);
    };
    ++setup_.seed;
    subscriptions_.push_back(
        std::make_shared<Subscription>(loop_, always_at(node), setup_, wire, std::move(handlers)));
    subscriptions_.back()->start();
  }
}

void Sentinels::announced(std::string_view message,
                          const std::function<void(const Endpoint&)>& switched) const {
  if (const auto primary = switched_to(message, master_)) switched(*primary);
}

void Sentinels::close() {
  dialer_->cancel();
  for (const auto& subscription : subscriptions_) subscription->close();
}

}  // namespace dripgate::redis
