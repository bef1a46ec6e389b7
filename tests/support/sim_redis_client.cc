#include "support/sim_redis_client.h"

#include <stdexcept>
#include <utility>

#include <hiredis/hiredis.h>

#include "redis/failure.h"

namespace dripgate::testing {
namespace {

redis::Reply reply_of(const redisReply& from) {
  redis::Reply reply;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      reply.value = static_cast<std::int64_t>(from.integer);
      break;
    case REDIS_REPLY_NIL:
      break;
    case REDIS_REPLY_ARRAY: {
      std::vector<redis::Reply> items;
      for (std::size_t i = 0; i < from.elements; ++i) items.push_back(reply_of(*from.element[i]));
      reply.value = std::move(items);
      break;
    }
    default:
      reply.value = std::string(from.str, from.len);
  }
  return reply;
}

Result<redis::Reply> result_of(const redisReply* from) {
  if (from == nullptr) return fail(ErrorCode::timed_out, "no answer", true);
  if (from->type != REDIS_REPLY_ERROR) return reply_of(*from);
  return std::unexpected(redis::classify({from->str, from->len}, "sim").error);
}

}  // namespace

SimRedisClient::SimRedisClient(std::uint16_t port, Executor& executor, std::function<void()> before_write)
    : executor_(executor),
      before_write_(std::move(before_write)),
      connection_(redisConnect("127.0.0.1", port), &redisFree) {
  if (!connection_ || connection_->err != 0) throw std::runtime_error("no redis-server listens");
}

SimRedisClient::~SimRedisClient() = default;

void SimRedisClient::command(std::string_view, redis::Words words, Duration, Done<redis::Reply> done) {
  queued_.push_back({{words.begin(), words.end()}, std::move(done)});
  post_write();
}

void SimRedisClient::run(const redis::Script& script, redis::Words keys, redis::Words arguments, Duration,
                         Done<redis::Reply> done) {
  std::vector<std::string> words{"EVAL", std::string(script.text()), std::to_string(keys.size())};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  queued_.push_back({std::move(words), std::move(done)});
  post_write();
}

void SimRedisClient::each_primary(redis::Words words,
                                  std::move_only_function<void(std::vector<redis::NodeReply>)> done) {
  command("", words, Duration{0}, [kept = std::move(done)](Result<redis::Reply> reply) mutable {
    std::vector<redis::NodeReply> nodes;
    nodes.push_back({"sim", std::move(reply)});
    kept(std::move(nodes));
  });
}

void SimRedisClient::when_writable(std::size_t, Task task) {
  writable_.push_back(std::move(task));
  post_write();
}

void SimRedisClient::post_write() {
  if (std::exchange(posted_, true)) return;
  executor_.post(guard_.wrap([this] { write(); }));
}

void SimRedisClient::write() {
  for (Task& task : std::exchange(writable_, {})) task();
  posted_ = false;
  if (!writable_.empty()) post_write();
  before_write_();
  std::vector<Call> calls = std::exchange(queued_, {});
  calls_ += calls.size();
  for (const Call& call : calls) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : call.words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(connection_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data());
  }
  for (Call& call : calls) {
    void* raw = nullptr;
    if (redisGetReply(connection_.get(), &raw) != REDIS_OK) raw = nullptr;
    const std::unique_ptr<void, void (*)(void*)> reply(raw, &freeReplyObject);
    executor_.post(guard_.wrap(
        [done = std::move(call.done), answer = result_of(static_cast<const redisReply*>(raw))]() mutable {
          done(std::move(answer));
        }));
  }
}

}  // namespace dripgate::testing
