// ScriptQueue: calls of one script on one partition. What queues until the connection is written next, or
// while kBatchesInFlight are unanswered, goes out as one call of the script: batches grow with the load, and
// no timer holds anybody up. All calls of a batch share its outcome. On the client's loop.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guard.h"
#include "broker/redis_streams/context.h"

namespace dripgate::broker::redis_streams {

class ScriptQueue {
 public:
  struct Call {
    std::vector<std::string> arguments;
    std::string key;  // of its own, behind the shared ones; empty: none
    Done<void> done;
  };

  /// `keys` and `arguments` stand before those of the calls.
  ScriptQueue(ContextPtr context, std::string_view script, std::vector<std::string> keys,
              std::vector<std::string> arguments = {});
  ScriptQueue(const ScriptQueue&) = delete;
  ScriptQueue& operator=(const ScriptQueue&) = delete;

  /// Destroyed before it is answered: `done` never runs.
  void add(Call call);
  /// Runs with the reply of each batch, before the calls' own `done`.
  void on_reply(std::function<void(const redis::Reply&)> listener) { listener_ = std::move(listener); }

 private:
  using Dones = std::vector<Done<void>>;

  void post_flush();
  void flush();
  Dones take_batch(std::vector<Call>& batch);
  void finish(Dones dones, const Result<redis::Reply>& reply);

  ContextPtr context_;
  redis::Script script_;
  std::vector<std::string> keys_;
  std::vector<std::string> arguments_;
  std::function<void(const redis::Reply&)> listener_;
  std::deque<Call> waiting_;
  std::size_t in_flight_ = 0;
  bool flush_posted_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
