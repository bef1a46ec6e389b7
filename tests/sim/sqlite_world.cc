#include <stdexcept>

#include "broker/sqlite/after_commit_sink.h"
#include "broker/sqlite/broker.h"
#include "sim/world.h"
#include "sqlite/database.h"
#include "store/sqlite/stores.h"
#include "support/crash_vfs.h"

namespace dripgate::sim {
namespace {

class SqliteWorld final : public World {
 public:
  SqliteWorld(testing::VirtualClock& clock, testing::SimExecutor& executor, std::uint64_t seed)
      : clock_(clock), executor_(executor), seed_(seed) {}
  ~SqliteWorld() override { close_handles(); }

  Ports open(broker::Sink& sink) override {
    auto opened = sqlite::Database::open("sim.db", {.vfs = vfs_.name()});
    if (!opened) throw std::runtime_error("the file does not open after a kill: " + opened.error().detail);
    database_ = std::move(*opened);
    broker_ = std::make_unique<broker::sqlite::Broker>(*database_, executor_, clock_);
    store_ = store::make_sqlite_booking_store(*database_, clock_);
    producer_ = broker_->publisher(kSourceTopic);
    source_ = broker_->source(kSourceTopic);
    overflow_ = broker_->publisher("s-overflow");
    overflow_source_ = broker_->source("s-overflow");
    timer_ = broker_->timer("s");
    letters_ = broker_->dead_letters("s-dead");
    sink_ = std::make_unique<broker::sqlite::AfterCommitSink>(*database_, sink);
    return {*store_, *source_, *overflow_, *overflow_source_, *timer_, *letters_, *sink_};
  }
  void close() override {
    // First the power, then the objects: what they write on their way out must not count.
    ++kills_ % 2 == 0 ? vfs_.kill() : vfs_.kill_keeping_some(seed_ + kills_);
    close_handles();
  }
  Result<void> produce(broker::Message message) override {
    Result<void> published;
    producer_->publish(std::move(message), [&](Result<void> answer) { published = std::move(answer); });
    return published ? database_->end_turn() : published;
  }
  Result<bool> after_task(Dice& dice, bool may_die) override {
    // A turn is one task or a few; with nothing else to do now it ends.
    const bool more = !executor_.idle() && executor_.next_due() <= executor_.elapsed();
    if (more && dice.chance(2, 3)) return false;
    if (may_die && dice.chance(1, 200)) vfs_.die_at_step(static_cast<std::uint64_t>(dice.between(1, 6)));
    return make_durable();
  }
  Result<bool> make_durable() override {
    if (auto durable = database_->end_turn(); !durable) return std::unexpected(durable.error());
    return true;
  }
  std::size_t waiting() override {
    return count("SELECT COUNT(*) FROM messages") + count("SELECT COUNT(*) FROM timers");
  }

 private:
  std::size_t count(const char* sql) {
    auto& statement = database_->statement(sql).bind();
    if (!statement.step().value_or(false)) throw std::runtime_error("sim: cannot count");
    const auto rows = static_cast<std::size_t>(statement.integer(0));
    statement.reset();
    return rows;
  }
  void close_handles() {
    sink_.reset();
    letters_.reset();
    timer_.reset();
    overflow_source_.reset();
    overflow_.reset();
    source_.reset();
    producer_.reset();
    store_.reset();
    broker_.reset();
    database_.reset();
  }

  testing::VirtualClock& clock_;
  testing::SimExecutor& executor_;
  std::uint64_t seed_;
  std::uint64_t kills_ = 0;
  testing::CrashVfs vfs_;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<broker::sqlite::Broker> broker_;
  std::unique_ptr<store::BookingStore> store_;
  std::unique_ptr<broker::Publisher> producer_;
  std::unique_ptr<broker::EventSource> source_;
  std::unique_ptr<broker::Publisher> overflow_;
  std::unique_ptr<broker::EventSource> overflow_source_;
  std::unique_ptr<broker::Timer> timer_;
  std::unique_ptr<broker::DeadLetters> letters_;
  std::unique_ptr<broker::sqlite::AfterCommitSink> sink_;
};

}  // namespace

std::unique_ptr<World> make_sqlite_world(testing::VirtualClock& clock, testing::SimExecutor& executor,
                                         std::uint64_t seed) {
  return std::make_unique<SqliteWorld>(clock, executor, seed);
}

}  // namespace dripgate::sim
