// The drip on Redis Streams, one worker process, end to end over a real redis-server: events that pass at
// once (read, booked, delivered, acked) and events that wait (read, booked, timer entry, acked), with and
// without an fsync per write; and to the end: half of the events pass, half fire seconds later, go through
// the gate and the overflow topic and are delivered from there. 10,000 events/s is 100 us: neither the worker
// nor its Redis, each on a core of its own, may take more per event. The wall time beside it is what this
// machine gave, with all else that ran on it. Then the worker's resident set over a long run, which grows by
// less than 20 MB. Topics are filled beforehand, so that only the worker is measured.
#include "support/redis_drip.h"

#include <cinttypes>
#include <ctime>

#include "compare.h"
#include "support/redis/redis_server.h"

namespace dripgate::bench {
namespace {

constexpr std::uint64_t kEvents = 20'000;  // of one repeat
constexpr std::uint64_t kKeys = 20;
constexpr double kMicrosecondsMax = 100;  // 10,000 events/s
constexpr std::uint64_t kLongRunFirst = 100'000;
constexpr std::uint64_t kLongRunEvents = 2'000'000;
constexpr std::uint64_t kLongRunWindow = 1'000;
constexpr std::int64_t kLongRunSecondsMax = 600;
constexpr double kGrowthMax = 20.0;

double resident_megabytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * 4096.0 / 1e6;
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::int64_t seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/// A server of its own with one worker.
class Site final : public drip::Observer {
 public:
  enum class Until : std::uint8_t { delivered, decided };  // when an event counts as worked off
  Site(core::Units limit, Duration window, bool durable, Until until)
      : server_({.lines = durable ? std::vector<std::string>{"appendonly yes", "appendfsync always"}
                                  : std::vector<std::string>{}}),
        until_(until),
        drip_(loop_,
              {.redis = testing::redis_at(server_.port()),
               .stream = testing::redis_drip_stream(limit, window),
               .on_delivery = [this](const broker::Outgoing&) { ++delivered_; }},
              *this) {}

  void on_verdict(const core::Stream&, const drip::EventVerdict& verdict) override {
    ++decided_;
    waited_ += verdict.kind == drip::EventVerdict::Kind::scheduled ? 1 : 0;
  }
  void on_dead_letter(const core::Stream&, std::string_view, std::string_view reason) override {
    throw std::runtime_error("a dead letter in a bench: " + std::string(reason));
  }

  void publish() {
    const std::uint64_t number = next_++;
    std::string body = R"({"id":"e)" + std::to_string(number) + R"(","key":"merchant_)" +
                       std::to_string(number % kKeys) + R"(","amount":2500.00,"currency":"INR","note":")";
    body.append(256 - body.size() - 2, 'x');
    drip_.ingest().publish(
        {.id = std::to_string(number), .body = body + "\"}", .attributes = {}, .published = {}},
        [this](Result<void> done) {
          if (!done) throw std::runtime_error(done.error().detail);
          ++published_;
        });
  }
  void fill() {
    drip_.pipeline().pause();
    for (std::uint64_t i = 0; i < kEvents; ++i) publish();
    run_until([this] { return published_ == next_; });
  }
  std::uint64_t work_off() {
    const double worker = thread_cpu_seconds();
    const double redis = redis_cpu_seconds();
    drip_.pipeline().resume();
    run_until([this] { return (until_ == Until::delivered ? delivered_ : decided_) >= next_; });
    worker_cpu_.push_back((thread_cpu_seconds() - worker) / kEvents * 1e6);
    redis_cpu_.push_back((redis_cpu_seconds() - redis) / kEvents * 1e6);
    return kEvents;
  }
  /// Publishes as it delivers; how many megabytes the process grew.
  double long_run(std::uint64_t& events) {
    const std::int64_t end = seconds_now() + kLongRunSecondsMax;
    double at_first = 0;
    while (delivered_ < kLongRunEvents && seconds_now() < end) {
      while (next_ < kLongRunEvents && next_ - delivered_ < kLongRunWindow) publish();
      loop_.run_for(Duration{200});
      if (at_first == 0 && delivered_ >= kLongRunFirst) at_first = resident_megabytes();
    }
    events = delivered_;
    return resident_megabytes() - at_first;
  }

  [[nodiscard]] double waiting_share() const {
    return static_cast<double>(waited_) / static_cast<double>(decided_);
  }
  void judge_cpu(Comparison& table, const std::string& name) const {
    table.judge(name + ": CPU of the worker per event", median(worker_cpu_), kMicrosecondsMax, "us");
    table.judge(name + ": CPU of Redis per event", median(redis_cpu_), kMicrosecondsMax, "us");
  }

 private:
  [[nodiscard]] double redis_cpu_seconds() const {
    const std::string cpu = server_.ask({"INFO", "cpu"});
    const auto of = [&cpu](const std::string& name) {
      return std::stod(cpu.substr(cpu.find(name) + name.size()));
    };
    return of("used_cpu_sys:") + of("used_cpu_user:");
  }
  template <class Holds>
  void run_until(Holds holds) {
    while (!holds()) loop_.run_for(Duration{200});
  }

  testing::RedisServer server_;
  net::IoLoop loop_;
  std::uint64_t next_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t decided_ = 0;
  std::uint64_t waited_ = 0;
  Until until_;
  std::vector<double> worker_cpu_;  // us per event of each repeat
  std::vector<double> redis_cpu_;
  testing::RedisDrip drip_;
};

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  using namespace dripgate::bench;
  Comparison table("redis_drip", argc, argv);
  constexpr dripgate::core::Units kNoLimit = 100'000'000;
  constexpr dripgate::core::Units kHalf = kEvents / kKeys / 2;
  using enum Site::Until;
  using namespace std::chrono_literals;
  Site now(kNoLimit, 1s, false, delivered), now_durable(kNoLimit, 1s, true, delivered);
  Site later(1, 1s, false, decided), later_durable(1, 1s, true, decided);
  Site both(kHalf, 4s, false, delivered);
  const auto add = [&table](const char* name, Site& site) {
    table.add(name, [&site] { return site.work_off(); }, [&site] { site.fill(); });
  };
  add("passes at once", now);
  add("passes at once, AOF always", now_durable);
  add("waits in the timer", later);
  add("waits in the timer, AOF always", later_durable);
  add("half wait, to the end", both);
  table.run();
  now.judge_cpu(table, "passes at once");
  now_durable.judge_cpu(table, "passes at once, AOF always");
  later.judge_cpu(table, "waits in the timer");
  later_durable.judge_cpu(table, "waits in the timer, AOF always");
  std::printf("to the end: %.0f %% of the events waited\n", 100 * both.waiting_share());
  both.judge_cpu(table, "half wait, to the end");
  Site steady(kNoLimit, 1s, false, delivered);
  std::uint64_t events = 0;
  const double growth = steady.long_run(events);
  std::printf("%" PRIu64 " events in the long run\n", events);
  table.judge("growth of the worker from event 100,000 on", growth, kGrowthMax, "MB");
  return table.verdict();
}
