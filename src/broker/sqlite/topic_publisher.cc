// TopicPublisher.
#include "broker/sqlite/topic_publisher.h"

#include "broker/attributes_codec.h"

namespace dripgate::broker::sqlite {
namespace {

constexpr const char* kInsert =
    "INSERT INTO messages(seq, topic, id, published, attributes, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
    "ON CONFLICT(topic, id) DO NOTHING";

}  // namespace

TopicPublisher::TopicPublisher(ContextPtr context, const std::string& topic)
    : context_(std::move(context)),
      scope_(context_->scopes.scope(db::ScopeKind::topic, topic)),
      listeners_(context_->wakeups.of(topic)) {}

void TopicPublisher::publish(Message message, Done<void> done) {
  done(store(message));
}

Result<void> TopicPublisher::store(const Message& message) {
  if (Result<void> begun = context_->database.begin_write(); !begun) return begun;
  if (Result<void> known = context_->scopes.ensure(scope_); !known) return known;
  const std::string made_id = message.id.empty() ? scope_.name + "-" + std::to_string(scope_.next) : "";
  encode_attributes(message.attributes, attributes_);
  db::Statement& insert = context_->database.statement(kInsert);
  insert.bind(Scopes::next_sequence(scope_), scope_.number, message.id.empty() ? made_id : message.id,
              to_us(context_->clock.now()), db::Blob{attributes_}, db::Blob{message.body});
  if (Result<void> inserted = insert.run(); !inserted) return inserted;
  if (insert.changed_rows() == 0) return {};  // there already
  context_->scopes.taken(scope_);
  for (Listener* listener : *listeners_) listener->wake();
  return {};
}

}  // namespace dripgate::broker::sqlite
