// Broker: hands out the parts.
#include "broker/sqlite/broker.h"

#include "broker/sqlite/context.h"
#include "broker/sqlite/dead_letter_list.h"
#include "broker/sqlite/stream_timer.h"
#include "broker/sqlite/topic_publisher.h"
#include "broker/sqlite/topic_source.h"

namespace dripgate::broker::sqlite {

Broker::Broker(dripgate::sqlite::Database& database, Executor& executor, Clock& clock)
    : context_(std::make_shared<Context>(database, executor, clock)) {}

Broker::~Broker() = default;

std::unique_ptr<Publisher> Broker::publisher(std::string topic) {
  return std::make_unique<TopicPublisher>(context_, topic);
}

std::unique_ptr<EventSource> Broker::source(std::string topic) {
  return std::make_unique<TopicSource>(context_, topic);
}

std::unique_ptr<Timer> Broker::timer(std::string stream) {
  return std::make_unique<StreamTimer>(context_, stream);
}

std::unique_ptr<DeadLetters> Broker::dead_letters(std::string topic) {
  return std::make_unique<DeadLetterList>(context_, topic);
}

}  // namespace dripgate::broker::sqlite
