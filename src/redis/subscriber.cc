#include "redis/subscriber.h"

#include <boost/asio/post.hpp>

#include "net/io_loop_impl.h"
#include "redis/deployment.h"
#include "redis/encode.h"
#include "redis/subscription.h"

namespace dripgate::redis {
namespace {

class Listening final : public Subscriber {
 public:
  Listening(std::shared_ptr<Subscription> subscription, std::shared_ptr<Sentinels> sentinels)
      : subscription_(std::move(subscription)), sentinels_(std::move(sentinels)) {}
  ~Listening() override {
    subscription_->close();
    if (sentinels_) sentinels_->close();
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::shared_ptr<Subscription> subscription_;
  std::shared_ptr<Sentinels> sentinels_;  // null without
};

// Another node each time: one that does not answer must not be the only one asked.
Locate in_turn(std::vector<Endpoint> nodes) {
  return
      [nodes = std::move(nodes), next = std::make_shared<std::size_t>(0)]() -> Awaitable<Result<Endpoint>> {
        co_return nodes[(*next)++ % nodes.size()];
      };
}

std::string subscribe_wire(const std::vector<std::string>& channels) {
  std::vector<std::string_view> words{"SUBSCRIBE"};
  words.insert(words.end(), channels.begin(), channels.end());
  return encode(words);
}

}  // namespace

Result<std::unique_ptr<Subscriber>> subscribe(net::IoLoop& loop, Options options,
                                              const std::vector<std::string>& channels,
                                              SubscriberHandlers handlers) {
  if (channels.empty())
    return fail(ErrorCode::invalid_argument, "no channel is given; accepted: at least one");
  auto setup = setup_of(options);
  if (!setup) return std::unexpected(std::move(setup.error()));
  std::shared_ptr<Sentinels> sentinels;
  Locate locate;
  if (options.layout == Options::Layout::sentinel) {
    sentinels = sentinels_of(loop, options, *setup);
    locate = [sentinels] { return sentinels->locate(); };
  } else {
    locate = in_turn(std::move(options.nodes));
  }
  auto subscription = std::make_shared<Subscription>(loop, std::move(locate), *setup,
                                                     subscribe_wire(channels), std::move(handlers));
  subscription->start();
  return std::make_unique<Listening>(std::move(subscription), std::move(sentinels));
}

}  // namespace dripgate::redis
