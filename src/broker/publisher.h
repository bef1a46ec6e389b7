// The port to a topic that takes messages durably.
#pragma once

#include "base/result.h"
#include "broker/message.h"

namespace dripgate::broker {

class Publisher {
 public:
  virtual ~Publisher() = default;
  /// `done` without an error: the topic has it for good. An error may still have published it (publish again
  /// with the same id).
  virtual void publish(Message message, Done<void> done) = 0;
};

}  // namespace dripgate::broker
