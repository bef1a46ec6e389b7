// TopicPublisher.
#include "broker/sqlite/topic_publisher.h"

#include <utility>

namespace dripgate::broker::sqlite {

TopicPublisher::TopicPublisher(ContextPtr context, const std::string& topic)
    : context_(std::move(context)),
      scope_(context_->scopes.scope(db::ScopeKind::topic, topic)),
      listeners_(context_->wakeups.of(topic)) {}

void TopicPublisher::publish(Message message, Done<void> done) {
  done(store(std::move(message)));
}

Result<void> TopicPublisher::store(Message message) {
  if (Result<void> begun = context_->database.begin_write(); !begun) return begun;
  if (Result<void> known = context_->scopes.ensure(scope_); !known) return known;
  if (message.id.empty()) message.id = scope_.name + "-" + std::to_string(scope_.next);
  const Result<bool> there = context_->unwritten.has(scope_.number, message.id);
  if (!there) return std::unexpected(there.error());
  if (*there) return {};
  message.published = context_->clock.now();
  Result<void> added =
      context_->unwritten.add(scope_.number, Scopes::next_sequence(scope_), std::move(message));
  if (!added) return added;
  context_->scopes.taken(scope_);
  for (Listener* listener : *listeners_) listener->wake();
  return {};
}

}  // namespace dripgate::broker::sqlite
