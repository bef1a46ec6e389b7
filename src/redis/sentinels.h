// Sentinels: where the primary is now, asked of one Sentinel after the other, and word when it changes. For
// the Asio files of this room only; single-threaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis/subscription.h"

namespace dripgate::redis {

class Sentinels : public std::enable_shared_from_this<Sentinels> {
 public:
  /// `setup`: how to speak to the Sentinels.
  Sentinels(net::IoLoop& loop, std::vector<Endpoint> nodes, std::string master, ConnectionSetup setup);

  /// The first answer counts; who gave it is asked first the next time. One at a time. Errors: unavailable
  /// (none answers, or none knows the name), naming the last refusal.
  [[nodiscard]] Awaitable<Result<Endpoint>> locate();
  /// Tells `switched` the new primary whenever a Sentinel announces one. Once; the listening starts here.
  void watch(const std::function<void(const Endpoint&)>& switched);
  void close();

 private:
  Awaitable<Result<Endpoint>> ask(Endpoint sentinel);
  void announced(std::string_view message, const std::function<void(const Endpoint&)>& switched) const;

  net::IoLoop& loop_;
  std::vector<Endpoint> nodes_;
  std::string master_;
  ConnectionSetup setup_;
  std::shared_ptr<Dialer> dialer_;
  std::vector<std::shared_ptr<Subscription>> subscriptions_;
};

}  // namespace dripgate::redis
