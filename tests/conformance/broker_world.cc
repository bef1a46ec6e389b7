// The backends: the embedded file, ending its turn after every task or after many; a real redis-server.
#include "broker_world.h"

#include <gtest/gtest.h>

#include "broker/sqlite/broker.h"
#include "broker_redis_world.h"
#include "support/crash_vfs.h"

namespace dripgate::testing {
namespace {

class SqliteWorld final : public BrokerWorld {
 public:
  explicit SqliteWorld(int tasks_per_turn) : tasks_per_turn_(tasks_per_turn) { open(); }

  std::unique_ptr<broker::Publisher> publisher(const std::string& topic) override {
    return broker_->publisher(topic);
  }
  std::unique_ptr<broker::EventSource> source(const std::string& topic) override {
    return broker_->source(topic);
  }
  std::unique_ptr<broker::Timer> timer(const std::string& stream) override { return broker_->timer(stream); }
  std::unique_ptr<broker::DeadLetters> dead_letters(const std::string& topic) override {
    return broker_->dead_letters(topic);
  }

  void restart() override {
    end_turn();
    executor.clear();
    broker_.reset();
    vfs_.kill();
    database_.reset();
    open();
  }

  void run_for(Duration span) override {
    bool over = false;
    executor.post_after(span, [&] { over = true; });
    int tasks = 0;
    while (!over) {
      executor.run_one();
      if (++tasks % tasks_per_turn_ == 0) end_turn();
    }
    executor.run_ready();
    end_turn();
  }

 private:
  void open() {
    auto opened = sqlite::Database::open("broker.db", {.vfs = vfs_.name()});
    ASSERT_TRUE(opened) << opened.error().detail;
    database_ = std::move(*opened);
    broker_ = std::make_unique<broker::sqlite::Broker>(*database_, executor, clock);
  }
  void end_turn() {
    const Result<void> ended = database_->end_turn();
    EXPECT_TRUE(ended) << ended.error().detail;
  }

  CrashVfs vfs_;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<broker::sqlite::Broker> broker_;
  int tasks_per_turn_;
};

}  // namespace

std::vector<BrokerBackend> all_brokers() {
  return {{"SqliteTurnOfOne", [] { return std::make_unique<SqliteWorld>(1); }},
          {"SqliteTurnOfMany", [] { return std::make_unique<SqliteWorld>(64); }},
          {"Redis", [] { return std::make_unique<RedisWorld>(); }}};
}

}  // namespace dripgate::testing
