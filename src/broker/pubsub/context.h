// What the parts of one broker on Pub/Sub share. Its lifetime is the longest of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

struct Context {
  std::unique_ptr<Transport> transport;
  Executor& executor;  // of the transport
  Clock& clock;
  Duration handling_deadline;
  std::function<void(const std::string& what, const Error& error)> trouble{};
  std::function<void(const std::string& what)> well{};
};
using ContextPtr = std::shared_ptr<Context>;

}  // namespace dripgate::broker::pubsub
