// VerdictBoard: ingest calls that wait for what the pipeline decides about their events. A call is answered
// once its events are durable and every verdict is in and durable, or when its wait is over: what has no
// verdict by then is `accepted_only`. On the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/turn.h"
#include "server/stream_service.h"

namespace dripgate::app {

/// One ingest call. Owned by the callbacks that still concern it.
struct IngestCall {
  std::string stream;
  std::vector<server::IngestAnswer> answers;
  std::vector<std::string> message_ids;  // per answer; empty: nothing to wait for
  std::size_t publishing = 0;            // messages that the topic has not answered for
  std::size_t open = 0;                  // answers without a verdict
  bool durable = false;
  bool waiting = true;                           // false: answer as soon as it is durable
  Done<std::vector<server::IngestAnswer>> done;  // empty once answered
};
using IngestCallPtr = std::shared_ptr<IngestCall>;

class VerdictBoard {
 public:
  /// The messages of `call` are about to be published: a verdict may come before the topic's own answer.
  void enter(const IngestCallPtr& call);
  /// The topic's answer for message `index`; with the last one the call becomes durable.
  void published(const IngestCallPtr& call, std::size_t index, Result<void> answer, Turn& turn);
  /// The pipeline decided, in this turn.
  void verdict(const std::string& stream, const drip::EventVerdict& verdict, Turn& turn);
  /// The wait of `call` is over.
  void expire(const IngestCallPtr& call);

  /// Events that somebody waits for. Only tests ask: that no seat outlives its call shows nowhere else.
  [[nodiscard]] std::size_t waiting() const { return seats_.size(); }

 private:
  using Name = std::pair<std::string, std::string>;  // stream, message id
  struct Seat {
    IngestCallPtr call;
    std::size_t index = 0;
  };

  void refuse(const IngestCallPtr& call, std::size_t index, const Error& error);
  void settle(const Name& name, const drip::EventVerdict& verdict);
  void answer_if_complete(const IngestCallPtr& call);
  void answer(const IngestCallPtr& call);
  void leave(const IngestCallPtr& call);

  std::multimap<Name, Seat> seats_;
};

}  // namespace dripgate::app
