// SimRedisClient: a redis::Client in virtual time over a real server. What one turn of the executor queues
// goes out as one pipeline when its task runs, and each answer is a task of its own; meanwhile virtual time
// stands. An executor that is cleared has lost calls and answers, as a kill does: make another client then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.h"
#include "base/time.h"
#include "redis/client.h"

struct redisContext;

namespace dripgate::testing {

class SimRedisClient final : public redis::Client {
 public:
  /// `before_write` runs before Redis is asked anything: it sets the server's clock. Throws
  /// std::runtime_error when nobody listens.
  SimRedisClient(std::uint16_t port, Executor& executor, std::function<void()> before_write);
  ~SimRedisClient() override;
  SimRedisClient(const SimRedisClient&) = delete;
  SimRedisClient& operator=(const SimRedisClient&) = delete;

  using Client::command;
  using Client::run;
  void command(std::string_view key, redis::Words words, Duration timeout, Done<redis::Reply> done) override;
  void run(const redis::Script& script, redis::Words keys, redis::Words arguments, Duration timeout,
           Done<redis::Reply> done) override;
  void each_primary(redis::Words words,
                    std::move_only_function<void(std::vector<redis::NodeReply>)> done) override;
  [[nodiscard]] std::size_t shard(std::string_view) const override { return 0; }
  [[nodiscard]] std::size_t shards() const override { return 1; }
  void when_writable(std::size_t shard, Task task) override;

  [[nodiscard]] std::size_t calls() const { return calls_; }

 private:
  struct Call {
    std::vector<std::string> words;
    Done<redis::Reply> done;
  };

  void post_write();
  void write();

  Executor& executor_;
  std::function<void()> before_write_;
  std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
  std::vector<Call> queued_;
  std::vector<Task> writable_;
  std::size_t calls_ = 0;
  bool posted_ = false;
  Guard guard_;
};

}  // namespace dripgate::testing
