// The port to a stream of events: deliveries come in, each is acked or left to lapse. At most
// max_outstanding_* unsettled deliveries are handed out; settling one makes room. A source keeps leases alive
// itself until the handling deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/limits.h"
#include "base/result.h"
#include "broker/message.h"

namespace dripgate::broker {

struct Delivery {
  Message message;
  std::uint64_t token = 0;  // names this delivery in ack and lapse
  int redeliveries = 0;     // 0: first time, where the broker tells
};

struct FlowControl {
  std::size_t max_outstanding_messages = kOutstandingMessagesDefault;
  std::size_t max_outstanding_bytes = kOutstandingBytesDefault;
};

class EventSource {
 public:
  using Handler = std::function<void(Delivery)>;

  virtual ~EventSource() = default;
  /// Begins to pull. `handler` runs on the executor of the source.
  virtual void start(FlowControl flow, Handler handler) = 0;
  /// Done with it for good: never delivered again once confirmed.
  virtual void ack(std::uint64_t token, Done<void> done) = 0;
  /// Give up this delivery: it comes again later, by lease expiry, never by an immediate nack.
  virtual void lapse(std::uint64_t token) = 0;
  virtual void pause() = 0;  // stop pulling; what is out stays out
  virtual void resume() = 0;
};

}  // namespace dripgate::broker
