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

class KillPoints : public ::testing::Test {
 protected:
  static constexpr std::size_t kLimit = 5;
  static constexpr Duration kWindow{1s};
  static constexpr int kEvents = 12;  // of a run: five at once, the rest in the windows that follow

  ~KillPoints() override { pubsub_->fake()->set({}); }

  void set_traps() {
    using testing::CallFate;
    pubsub_->fake()->set({.call = [this](const std::string& method, const std::string& place) {
      const bool late = place.ends_with(picture.overflow);
      if (!late && !place.ends_with(picture.source)) return CallFate::serve;
      if (method == "StreamingPull" && !late) (void)trap_.reached(Point::pulled);
      if (method == "Acknowledge" && trap_.reached(late ? Point::before_last_ack : Point::before_ack))
        return CallFate::refuse;
      if (method == "Publish" && late) {
        if (trap_.reached(Point::let_go)) return CallFate::refuse;
        if (trap_.reached(Point::published)) return CallFate::lose_reply;
      }
      return CallFate::serve;
    }});
    // The dispatcher creates tasks too, of later generations.
    const auto by_worker = [](const testing::FakeTask& task) {
      return task.body.contains("\"generation\":0,");
    };
    picture.tasks.set({.create =
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
    picture.sink.confirm([this](const SinkCall& call) {
      return !trap_.reached(call.slot == call.released ? Point::worker_at_sink : Point::consumer_at_sink);
    });
  }

  std::unique_ptr<Server> pubsub_ = make_real_time_fake();
  Trap trap_;
  Picture picture{*pubsub_, {.limits = "[ { limit: 5, window: 1s } ]", .max_delay = "2h"}};
};

TEST_F(KillPoints, LoseNothingAndExceedNothingAndWhatComesTwiceIsTheSame) {
  const int runs = std::getenv("DRIPGATE_LONG") != nullptr ? 200 : 20;
  picture.start_all();
  set_traps();
  std::set<std::string> sent;
  for (int run = 0; run < runs; ++run) {
    const Victim& victim = kVictims[static_cast<std::size_t>(run) % kVictims.size()];
    trap_.arm(victim.point, picture.part(victim.part).pid());
    const std::string prefix = "run" + std::to_string(run) + "_";
    for (int i = 0; i < kEvents; ++i) sent.insert(prefix + std::to_string(i));
    picture.publish(odd_payouts(kEvents, std::to_string(run), prefix));
    ASSERT_TRUE(eventually([&] { return !trap_.armed(); }))
        << "run " << run << ", point " << static_cast<int>(victim.point) << picture.log();
    picture.start(victim.part);
  }
  // What was let go right before a kill waits for its release lease, a minute; others for their Pub/Sub
  // lease.
  EXPECT_TRUE(eventually([&] { return picture.sink.ids() == sent; }, 4 * kPatience))
      << picture.sink.distinct() << " of " << sent.size() << picture.log();
  EXPECT_TRUE(eventually([&] { return picture.tasks.counts().waiting == 0; }));
  EXPECT_LE(picture.fullest(kWindow), kLimit);
  const std::vector<SinkCall> calls = picture.sink.calls();
  for (const SinkCall& call : calls) {
    ASSERT_TRUE(sent.contains(call.id)) << call.id;
    const std::size_t blank = call.id.find('_');
    EXPECT_EQ(call.body, odd_payout(std::stoi(call.id.substr(blank + 1)), call.id.substr(3, blank - 3),
                                    call.id.substr(0, blank + 1)));
  }
  for (const char* part : {"worker", "dispatch", "consume"})
    EXPECT_EQ(picture.metric(part, "dripgate_dead_lettered_total"), 0) << part;
  std::printf("kills: %d, events: %zu, lost: %zu, fullest window: %zu of %zu, delivered again: %zu\n", runs,
              sent.size(), sent.size() - picture.sink.distinct(), picture.fullest(kWindow), kLimit,
              calls.size() - picture.sink.distinct());
}

}  // namespace
}  // namespace dripgate::integration
