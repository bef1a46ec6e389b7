// kill -9 at each point of an event's way through the picture: the fakes and the sink kill the process that
// is about to go on, at the very call that marks the point, and then do what the world would have seen.
//
//   of the worker:     after the pull; after reserve, before the task is created; the creation sent, not
//                      answered; answered; before the ack; the sink has it, before its answer
//   of the dispatcher: let go, before it is published; published, before the store knows
//   of the consumer:   the sink has it, before its answer; before the ack
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <signal.h>
#include <sys/wait.h>

#include "integration_gcp/picture.h"

namespace dripgate::integration {
namespace {

enum class Point {
  pulled,
  reserved,
  create_sent,
  create_answered,
  before_ack,
  worker_at_sink,
  let_go,
  published,
  consumer_at_sink,
  before_last_ack
};

struct Victim {
  Point point;
  const char* part;
};
constexpr std::array kVictims{Victim{Point::pulled, "worker"},
                              Victim{Point::reserved, "worker"},
                              Victim{Point::create_sent, "worker"},
                              Victim{Point::create_answered, "worker"},
                              Victim{Point::before_ack, "worker"},
                              Victim{Point::worker_at_sink, "worker"},
                              Victim{Point::let_go, "dispatch"},
                              Victim{Point::published, "dispatch"},
                              Victim{Point::consumer_at_sink, "consume"},
                              Victim{Point::before_last_ack, "consume"}};

/// Kills one process when its point is reached. Thread-safe.
class Trap {
 public:
  void arm(Point point, pid_t victim) {
    const std::scoped_lock lock(mutex_);
    point_ = point;
    victim_ = victim;
  }
  /// True: this is it, and the victim is dead.
  bool reached(Point point) {
    const std::scoped_lock lock(mutex_);
    if (point_ != point) return false;
    point_.reset();
    ::kill(victim_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(victim_), &info, WEXITED | WNOWAIT);  // Process reaps it
    return true;
  }
  [[nodiscard]] bool armed() const {
    const std::scoped_lock lock(mutex_);
    return point_.has_value();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Point> point_;
  pid_t victim_ = -1;
};

class KillRuns {
 public:
  explicit KillRuns(Server& pubsub) : pubsub_(pubsub) {
    if (pubsub_.fake() != nullptr) set_traps_of_pubsub();
    set_traps();
  }
  ~KillRuns() {
    if (pubsub_.fake() != nullptr) pubsub_.fake()->set({});
  }

  /// One kill after the other while events come, then until all is delivered.
  void run(int runs, const std::vector<Victim>& victims);

 private:
  static constexpr std::size_t kLimit = 5;
  static constexpr Duration kWindow{1s};
  static constexpr int kEvents = 12;  // of a run: five at once, the rest in the windows that follow

  void set_traps_of_pubsub() {
    using testing::CallFate;
    pubsub_.fake()->set({.call = [this](const std::string& method, const std::string& place) {
      const bool late = place.ends_with(picture_.overflow);
      if (!late && !place.ends_with(picture_.source)) return CallFate::serve;
      if (method == "StreamingPull" && !late) (void)trap_.reached(Point::pulled);
      if (method == "Acknowledge" && trap_.reached(late ? Point::before_last_ack : Point::before_ack))
        return CallFate::refuse;
      if (method == "Publish" && late) {
        if (trap_.reached(Point::let_go)) return CallFate::refuse;
        if (trap_.reached(Point::published)) return CallFate::lose_reply;
      }
      return CallFate::serve;
    }});
  }
  void set_traps() {
    // The dispatcher creates tasks too, of later generations.
    const auto by_worker = [](const testing::FakeTask& task) {
      return task.body.contains("\"generation\":0,");
    };
    picture_.tasks.set({.create =
                            [this, by_worker](const testing::FakeTask& task) {
                              testing::CreateFault fault;
                              if (!by_worker(task)) return fault;
                              if (trap_.reached(Point::reserved)) fault.code = 14;
                              fault.lose_reply = trap_.reached(Point::create_sent);
                              return fault;
                            },
                        .late = {},
                        .twice = {},
                        .told =
                            [this, by_worker](const testing::FakeTask& task) {
                              if (by_worker(task)) (void)trap_.reached(Point::create_answered);
                            }});
    picture_.sink.confirm([this](const SinkCall& call) {
      return !trap_.reached(call.slot == call.released ? Point::worker_at_sink : Point::consumer_at_sink);
    });
  }

  Server& pubsub_;
  Trap trap_;
  Picture picture_{pubsub_, {.limits = "[ { limit: 5, window: 1s } ]", .max_delay = "2h"}};
};

void KillRuns::run(int runs, const std::vector<Victim>& victims) {
  picture_.start_all();
  std::set<std::string> sent;
  for (int run = 0; run < runs; ++run) {
    const Victim& victim = victims[static_cast<std::size_t>(run) % victims.size()];
    trap_.arm(victim.point, picture_.part(victim.part).pid());
    const std::string prefix = "run" + std::to_string(run) + "_";
    for (int i = 0; i < kEvents; ++i) sent.insert(prefix + std::to_string(i));
    picture_.publish(odd_payouts(kEvents, std::to_string(run), prefix));
    ASSERT_TRUE(eventually([&] { return !trap_.armed(); }))
        << "run " << run << ", point " << static_cast<int>(victim.point) << picture_.log();
    picture_.start(victim.part);
  }
  // What was let go right before a kill waits for its release lease, a minute; others for their Pub/Sub
  // lease.
  EXPECT_TRUE(eventually([&] { return picture_.sink.ids() == sent; }, 4 * kPatience))
      << picture_.sink.distinct() << " of " << sent.size() << picture_.log();
  EXPECT_TRUE(eventually([&] { return picture_.tasks.counts().waiting == 0; }));
  EXPECT_LE(picture_.fullest(kWindow), kLimit);
  const std::vector<SinkCall> calls = picture_.sink.calls();
  for (const SinkCall& call : calls) {
    ASSERT_TRUE(sent.contains(call.id)) << call.id;
    const std::size_t blank = call.id.find('_');
    EXPECT_EQ(call.body, odd_payout(std::stoi(call.id.substr(blank + 1)), call.id.substr(3, blank - 3),
                                    call.id.substr(0, blank + 1)));
  }
  for (const char* part : {"worker", "dispatch", "consume"})
    EXPECT_EQ(picture_.metric(part, "dripgate_dead_lettered_total"), 0) << part;
  std::printf("kills: %d, events: %zu, lost: %zu, fullest window: %zu of %zu, delivered again: %zu\n", runs,
              sent.size(), sent.size() - picture_.sink.distinct(), picture_.fullest(kWindow), kLimit,
              calls.size() - picture_.sink.distinct());
}

bool long_run() {
  return std::getenv("DRIPGATE_LONG") != nullptr;
}

TEST(KillPoints, LoseNothingAndExceedNothingAndWhatComesTwiceIsTheSame) {
  const auto pubsub = make_real_time_fake();
  KillRuns(*pubsub).run(long_run() ? 200 : 20, {kVictims.begin(), kVictims.end()});
}

// Where calls of Pub/Sub mark the point there is nothing to hook in. Few kills: it goes on delivering to
// streams that are gone, so that each makes the next wait longer.
TEST(KillPoints, LoseNothingOnGooglesEmulatorEither) {
  if (!long_run()) GTEST_SKIP() << "minutes of real time: ./dev soak gcp";
  std::string why;
  const auto pubsub = make_emulator(why);
  if (pubsub == nullptr) GTEST_SKIP() << why;
  KillRuns(*pubsub).run(10, {{Point::reserved, "worker"},
                             {Point::create_sent, "worker"},
                             {Point::create_answered, "worker"},
                             {Point::worker_at_sink, "worker"},
                             {Point::consumer_at_sink, "consume"}});
}

}  // namespace
}  // namespace dripgate::integration
