#include "broker/redis_streams/script_queue.h"

#include <utility>

namespace dripgate::broker::redis_streams {
namespace {

std::size_t bytes_of(const ScriptQueue::Call& call) {
  std::size_t bytes = call.key.size();
  for (const std::string& argument : call.arguments) bytes += argument.size();
  return bytes;
}

}  // namespace

ScriptQueue::ScriptQueue(ContextPtr context, std::string_view script, std::vector<std::string> keys,
                         std::vector<std::string> arguments)
    : context_(std::move(context)),
      script_(script),
      keys_(std::move(keys)),
      arguments_(std::move(arguments)) {}

void ScriptQueue::add(Call call) {
  if (waiting_.size() >= kQueuedCallsMax) {
    return call.done(fail(ErrorCode::full, keys_.front() + ": too many calls wait for Redis", true));
  }
  waiting_.push_back(std::move(call));
  post_flush();
}

void ScriptQueue::post_flush() {
  if (flush_posted_ || waiting_.empty() || in_flight_ >= kBatchesInFlight) return;
  flush_posted_ = true;
  context_->client.when_writable(context_->client.shard(keys_.front()), guard_.wrap([this] {
    flush_posted_ = false;
    flush();
  }));
}

ScriptQueue::Dones ScriptQueue::take_batch(std::vector<Call>& batch) {
  Dones dones;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < kBatchCalls) {
    bytes += bytes_of(waiting_.front());
    if (!batch.empty() && bytes > kBatchBytes) break;
    dones.push_back(std::move(waiting_.front().done));
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return dones;
}

void ScriptQueue::flush() {
  std::vector<Call> batch;
  Dones dones = take_batch(batch);
  if (batch.empty()) return;
  std::vector<std::string_view> keys(keys_.begin(), keys_.end());
  std::vector<std::string_view> arguments(arguments_.begin(), arguments_.end());
  for (const Call& call : batch) {
    if (!call.key.empty()) keys.emplace_back(call.key);
    arguments.insert(arguments.end(), call.arguments.begin(), call.arguments.end());
  }
  ++in_flight_;
  context_->client.run(script_, keys, arguments, context_->options.call_timeout,
                       guard_.wrap([this, kept = std::move(dones)](Result<redis::Reply> reply) mutable {
                         --in_flight_;
                         post_flush();
                         finish(std::move(kept), reply);
                       }));
  post_flush();
}

// Calls out last: any of them may end the owner of this, and then the others are told nothing.
void ScriptQueue::finish(Dones dones, const Result<redis::Reply>& reply) {
  const std::weak_ptr<char> alive = alive_;
  if (reply && listener_) listener_(*reply);
  for (Done<void>& done : dones) {
    if (alive.expired()) return;
    if (reply) {
      done({});
    } else {
      done(std::unexpected(reply.error()));
    }
  }
}

}  // namespace dripgate::broker::redis_streams
