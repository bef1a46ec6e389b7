// Publisher to a topic of Pub/Sub. Batches as publish_batches.h says; each call has a deadline and is sent
// again a few times. On the executor.
#pragma once

#include <memory>
#include <string>

#include "base/guard.h"
#include "broker/publisher.h"
#include "broker/pubsub/context.h"
#include "broker/pubsub/publish_batches.h"

namespace dripgate::broker::pubsub {

inline constexpr Duration kPublishDeadline = 10s;
/// Sends of one batch; beyond them the caller decides (drip/port_calls.h).
inline constexpr int kPublishTriesMax = 3;

class TopicPublisher final : public Publisher {
 public:
  TopicPublisher(ContextPtr context, std::string topic);
  void publish(Message message, Done<void> done) override;

 private:
  using BatchPtr = std::shared_ptr<PublishBatch>;

  void post_look();
  void look();
  void linger();
  void send(BatchPtr batch);
  void answered(const BatchPtr& batch, Answer<std::vector<std::string>> answer);
  void finish(const BatchPtr& batch, const Result<void>& result);

  ContextPtr context_;
  std::string topic_;
  PublishBatches batches_;
  bool look_posted_ = false;
  bool lingering_ = false;
  Guard guard_;
};

}  // namespace dripgate::broker::pubsub
