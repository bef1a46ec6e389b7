// Many processes on one Redis: a limit is one limit for all of them, and a process that is killed while it
// asks leaves nothing that another would count or book again.
#include <csignal>
#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/limits.h"
#include "net/io_loop_impl.h"
#include "redis/make_client.h"
#include "store/redis/booking_names.h"
#include "store/redis/stores.h"
#include "support/redis/redis_server.h"
#include "support/redis/slow_proxy.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

constexpr Duration kPatience = 10s;
constexpr Duration kDay = std::chrono::hours{24};

/// What one process has: stores with a client and a loop of its own.
struct Stores {
  explicit Stores(std::uint16_t port, Duration timeout = kPatience) {
    redis::Options options;
    options.nodes = {{.host = "127.0.0.1", .port = port}};
    options.timeout = timeout;
    client = redis::make_client(loop, std::move(options)).value();
    counters = store::make_redis_counter_store(*client);
    bookings = store::make_redis_booking_store(*client);
  }
  void run_one() {
    loop.impl()->context.restart();
    loop.impl()->context.run_one_for(kPatience);
  }

  net::IoLoop loop;
  std::unique_ptr<redis::Client> client;
  std::unique_ptr<store::CounterStore> counters;
  std::unique_ptr<store::BookingStore> bookings;
};

/// A forked process that writes numbers and ends. Forked before any client is made here.
class Child {
 public:
  explicit Child(const std::function<std::vector<std::int64_t>()>& work) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto numbers = work();
      const auto bytes = static_cast<ssize_t>(numbers.size() * sizeof(std::int64_t));
      ::_exit(::write(ends[1], numbers.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(from_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool running() {
    if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return !ended_;
  }
  void kill() {
    if (!running()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    ended_ = true;
  }
  [[nodiscard]] bool was_killed() const { return ended_ && WIFSIGNALED(status_); }
  /// All it has written: waits for its end.
  std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> all;
    for (std::int64_t one = 0; ::read(from_, &one, sizeof one) == sizeof one;) all.push_back(one);
    return all;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

constexpr std::int64_t kDenied = -1, kFailed = -2;

/// `callers` that each ask again when answered, from the moment `gate` says something: how many units each
/// answer left, kDenied, or kFailed.
std::vector<std::int64_t> ask_all(std::uint16_t port, int gate, const store::Charge& charge, int callers,
                                  int calls_each) {
  Stores store(port);
  char start = 0;
  if (::read(gate, &start, 1) < 0) return {kFailed};
  std::vector<std::int64_t> answers;
  std::function<void(int)> ask = [&](int left) {
    store.counters->consume({charge}, [&, left](const Result<core::Decision>& decision) {
      const bool allowed = decision && decision->verdict == core::Verdict::allow;
      const bool wrong = !decision || (!allowed && decision->outcomes[0].remaining != 0);
      answers.push_back(wrong ? kFailed : allowed ? decision->outcomes[0].remaining : kDenied);
      if (left > 1) ask(left - 1);
    });
  };
  for (int i = 0; i < callers; ++i) ask(calls_each);
  while (answers.size() < static_cast<std::size_t>(callers * calls_each)) store.run_one();
  return answers;
}

struct Race {
  int processes, callers, calls_each;
  core::Units limit;
  int sent_in_full;  // scripts, at the least
};

/// Every process starts at once; meanwhile the script cache is flushed over and over. All together are
/// admitted exactly the limit, and every unit is handed out once.
void race(const RedisServer& server, const std::string& key, const core::Limit& limit, const Race& how) {
  const store::Charge charge{.key = key, .limit = limit};
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<std::unique_ptr<Child>> children;
  for (int p = 0; p < how.processes; ++p)
    children.push_back(std::make_unique<Child>([&] {
      ::close(gate[1]);
      return ask_all(server.port(), gate[0], charge, how.callers, how.calls_each);
    }));
  ::close(gate[0]);
  ASSERT_EQ(server.ask({"CONFIG", "RESETSTAT"}), "OK");
  ::close(gate[1]);
  while (std::ranges::any_of(children, [](const auto& child) { return child->running(); }))
    ASSERT_EQ(server.ask({"SCRIPT", "FLUSH"}), "OK");
  std::multiset<std::int64_t> left;
  std::size_t answered = 0;
  for (const auto& child : children) {
    for (const std::int64_t answer : child->numbers()) {
      ASSERT_NE(answer, kFailed) << "a call failed, or a denial said that something is left";
      ++answered;
      if (answer != kDenied) left.insert(answer);
    }
  }
  EXPECT_EQ(answered, static_cast<std::size_t>(how.processes * how.callers * how.calls_each));
  std::multiset<std::int64_t> each_once;
  for (core::Units unit = 0; unit < how.limit; ++unit) each_once.insert(unit);
  EXPECT_EQ(left, each_once);
  const std::string stats = server.ask({"INFO", "commandstats"});
  const std::size_t evals = stats.find("cmdstat_eval:calls=");
  ASSERT_NE(evals, std::string::npos) << stats;
  EXPECT_GT(std::stoi(stats.substr(evals + 19)), how.sent_in_full) << "the flushes did not come in between";
}

std::vector<core::Limit> every_algorithm(core::Units limit) {
  // The second bucket is under numbers that are not common: another script.
  return {per(limit, 1000 * kDay), log_of(limit, kDay), bucket(1, kDay, limit), bucket(3, 7 * kDay, limit)};
}

TEST(RedisProcesses, EightProcessesOfTwentyFiveCallersAreAdmittedExactlyTheLimitAcrossScriptFlushes) {
  const RedisServer server;
  const Race how{.processes = 8, .callers = 25, .calls_each = 40, .limit = 1000, .sent_in_full = 8};
  const auto limits = every_algorithm(how.limit);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    SCOPED_TRACE("limit " + std::to_string(i));
    race(server, "rl:{t:acme}:" + std::to_string(i), limits[i], how);
  }
}

TEST(RedisProcesses, ABurstOfFourHundredIsAdmittedAHundredEachUnitOnce) {  // B1
  const RedisServer server;
  const Race how{.processes = 8, .callers = 50, .calls_each = 1, .limit = 100, .sent_in_full = 0};
  const auto limits = every_algorithm(how.limit);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    SCOPED_TRACE("limit " + std::to_string(i));
    race(server, "burst:" + std::to_string(i), limits[i], how);
  }
}

/// Reservations of one process, in turn: slot in us, or kFailed.
class AskedTwice : public ::testing::Test {
 protected:
  static constexpr int kEvents = 5;

  AskedTwice() { clock.set(kT0); }
  /// `before` runs before each. One of another stream goes ahead: then the process is connected, and Redis
  /// knows the script.
  static std::vector<std::int64_t> reserve_all(
      std::uint16_t port, int events, Duration timeout = kPatience,
      const std::function<void(int)>& before = [](int) {}) {
    static const auto policy = std::make_shared<core::BookingPolicy>(core::BookingPolicy{
        .limits = {per(2, 60s)}, .spread = core::Spread::even, .max_delay = 1h, .id_retention = 1h});
    Stores stores(port, timeout);
    std::vector<std::int64_t> slots;
    for (int i = -1; i < events; ++i) {
      before(i);
      store::ReserveRequest request;
      request.key = i < 0 ? "warm:k" : "s:k";
      request.event_id = "e" + std::to_string(i);
      request.policy = policy;
      std::optional<std::int64_t> slot;
      stores.bookings->reserve(std::move(request), [&](const Result<core::ReserveAnswer>& answer) {
        slot = answer ? to_us(answer->slot) : kFailed;
      });
      while (!slot) stores.run_one();
      if (i >= 0) slots.push_back(*slot);
    }
    return slots;
  }
  /// How many of the events Redis knows.
  [[nodiscard]] int known() const {
    int count = 0;
    for (int i = 0; i < kEvents; ++i) {
      const std::string id = "e" + std::to_string(i);
      const auto field = store::BookingNames::field_of(id);
      count += server.ask({"HEXISTS", store::BookingNames::events("{s}", field), field.field}) == "1" ? 1 : 0;
    }
    return count;
  }

  SteeredClock clock;
  RedisServer server{{.clock = &clock}};
};

TEST_F(AskedTwice, AReservationOfAProcessThatWasKilledIsTheSameForEveryOtherThatAsks) {
  const std::vector<std::int64_t> expected{to_us(kT0), to_us(kT0), to_us(kT0 + 60s), to_us(kT0 + 90s),
                                           to_us(kT0 + 120s)};
  for (int asked = 1; asked <= kEvents; ++asked) {
    ASSERT_EQ(server.ask({"FLUSHALL"}), "OK");
    Child killed([&] {
      // The reply of the last one is held back: Redis has booked, the process does not know.
      SlowProxy line(server.port());
      return reserve_all(line.port(), asked, 1h, [&](int event) {
        if (event == asked - 1) line.delay(std::chrono::hours{1});
      });
    });
    ASSERT_TRUE(eventually([&] { return known() == asked; })) << asked;
    killed.kill();
    ASSERT_TRUE(killed.was_killed()) << "it knew the answer";
    clock.advance(1ms);
    for (int process = 0; process < 2; ++process) {
      Child other([&] { return reserve_all(server.port(), kEvents); });
      const auto slots = other.numbers();
      ASSERT_EQ(slots.size(), expected.size());
      for (std::size_t i = 2; i < expected.size(); ++i)
        EXPECT_EQ(slots[i], expected[i]) << asked << ", " << i;
      for (std::size_t i = 0; i < 2; ++i) EXPECT_LE(slots[i], to_us(kT0 + 1ms)) << asked << ", " << i;
    }
    EXPECT_EQ(known(), kEvents);
    clock.set(kT0);
  }
}

}  // namespace
}  // namespace dripgate::testing
