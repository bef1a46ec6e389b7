// What the parts of one broker on Redis share. Its lifetime is the longest of them.
#pragma once

#include <memory>

#include "base/time.h"
#include "broker/redis_streams/options.h"
#include "broker/wakeups.h"
#include "redis/client.h"

namespace dripgate::broker::redis_streams {

struct Context {
  redis::Client& client;
  Executor& executor;  // of the client's loop
  Options options;
  Wakeups wakeups{};
};
using ContextPtr = std::shared_ptr<Context>;

}  // namespace dripgate::broker::redis_streams
