// Publisher to a topic of the embedded file: durable with the turn's commit (unwritten.h until then).
#pragma once

#include <memory>
#include <string>

#include "broker/publisher.h"
#include "broker/sqlite/context.h"

namespace dripgate::broker::sqlite {

class TopicPublisher final : public Publisher {
 public:
  TopicPublisher(ContextPtr context, const std::string& topic);
  void publish(Message message, Done<void> done) override;

 private:
  Result<void> store(Message message);

  ContextPtr context_;
  Scope& scope_;
  std::shared_ptr<Wakeups::Listeners> listeners_;
};

}  // namespace dripgate::broker::sqlite
