#include "sim/history.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "drip/reasons.h"
#include "sim/life.h"

namespace dripgate::sim {
namespace {

constexpr std::uint64_t kTasksMax = 200'000;  // more is a loop that never rests
constexpr Duration kSpanMax = 8h;             // after the last disturbance
constexpr int kPokes = 6;                     // in 40 minutes each: more than twice the age of lost timers
constexpr std::size_t kOutstandingMax = 8;    // unsettled deliveries of each source

class VerdictLog final : public drip::Observer {
 public:
  void on_verdict(const core::Stream&, const drip::EventVerdict& verdict) override {
    last[verdict.event_id] = verdict.kind;
  }
  std::map<std::string, drip::EventVerdict::Kind> last;
};

class History {
 public:
  explicit History(std::uint64_t seed, bool verbose)
      : plan_(make_plan(seed)),
        verbose_(verbose),
        dice_(seed ^ 0x5eed),
        sink_(plan_, clock_, ledger_),
        stream_(plan_.stream) {
    if (verbose_) {
      ledger_.narrate = [this](const std::string& line) {
        std::printf("%9.3f s:   %s\n", seconds(), line.c_str());
      };
    }
    Timers timers = Timers::broker;
    if (seed % 4 == 0) timers = seed % 8 == 0 ? Timers::cloud_tasks_with_claims : Timers::cloud_tasks;
    world_ = plan_.sqlite ? make_sqlite_world(clock_, executor_, seed)
                          : make_memory_world(clock_, executor_, timers);
  }

  Outcome play() {
    try {
      begin_life();
      play_timeline();
      end_troubles();
      settle_down("after the last disturbance");
      check_end();
      if (ledger_.faults().empty()) check_newcomers();
    } catch (const std::exception& wrong) {
      ledger_.fault(wrong.what());
    }
    executor_.clear();
    life_.reset();
    return {.faults = ledger_.faults(), .tasks = tasks_, .kills = kills_, .sqlite = plan_.sqlite};
  }

 private:
  void begin_life() {
    life_.emplace(
        world_->open(sink_), executor_, clock_, dice_, troubles_over_ ? Troubles{} : plan_.troubles, ledger_,
        [this] { return stream_; }, broker::FlowControl{.max_outstanding_messages = kOutstandingMax},
        verdicts_);
    life_->trouble.letters_down = letters_down_;
    life_->trouble.narrate = ledger_.narrate;
    sink_.set_trouble(&life_->trouble);
    life_->pipeline.start();
    if (paused_) life_->pipeline.pause();
  }

  void kill(const char* why) {
    if (verbose_) std::printf("%9.3f s: killed %s\n", seconds(), why);
    ++kills_;
    executor_.clear();
    lost_.insert(life_->trouble.lost_events.begin(), life_->trouble.lost_events.end());
    ledger_.roll_back();
    life_.reset();
    world_->close();
    executor_.run_for(dice_.chance(1, 2) ? 0us : dice_.span(0us, 20s));  // down for a while
    begin_life();
  }

  void play_timeline() {
    std::size_t next = 0;
    while (next < plan_.timeline.size() || executor_.elapsed() < plan_.troubles_end) {
      const Duration until = next < plan_.timeline.size() ? plan_.timeline[next].at : plan_.troubles_end;
      if (!executor_.idle() && executor_.next_due() <= until) {
        step();
        continue;
      }
      if (until > executor_.elapsed()) executor_.run_for(until - executor_.elapsed());
      if (next < plan_.timeline.size()) act(plan_.timeline[next++]);
    }
  }

  /// One task, and what may happen after it.
  void step() {
    if (++tasks_ > kTasksMax)
      throw std::runtime_error("it never rests: " + std::to_string(tasks_) + " tasks");
    executor_.run_one();
    const Result<bool> durable = world_->after_task(dice_, !troubles_over_ && plan_.kills_between_steps > 0);
    if (!durable) return kill("by a failed commit");
    if (*durable) ledger_.commit();
    check_bounds();
    if (!troubles_over_ && random_kills_ < plan_.kills_between_steps && dice_.chance(1, 30)) {
      ++random_kills_;
      kill("between two steps");
    }
  }

  void act(const Planned& planned);
  void freeze(int key, Duration span);
  void produce(const PlannedEvent& event) {
    if (verbose_) std::printf("%9.3f s: event %s cost %ld\n", seconds(), event.id.c_str(), event.cost);
    const broker::Message message{
        .id = "m-" + event.id, .body = event.body, .attributes = {}, .published = {}};
    // A producer that gets no answer sends again: the same message id is one message.
    while (!world_->produce(message)) kill("while an event came in");
    ledger_.commit();
    produced_.push_back(event);
  }

  void end_troubles() {
    troubles_over_ = true;
    letters_down_ = false;
    paused_ = false;
    life_->trouble.now = {};
    life_->trouble.letters_down = false;
    life_->trouble.accepted_entries.clear();
    life_->pipeline.resume();
  }

  /// Runs until nothing is left to do.
  void settle_down(const std::string& when) {
    if (verbose_) std::printf("%9.3f s: settles down %s\n", seconds(), when.c_str());
    const Duration limit = executor_.elapsed() + kSpanMax;
    while (!executor_.idle() && executor_.next_due() <= limit) step();
    if (!executor_.idle()) throw std::runtime_error("it does not come to rest " + when);
    if (world_->waiting() > 0) {
      throw std::runtime_error("it rests " + when + " although " + std::to_string(world_->waiting()) +
                               " messages or timer entries wait");
    }
  }

  void check_bounds() {
    std::optional<drip::PipelineStatus> status;
    if (tasks_ % 16 != 0) return;
    life_->pipeline.status(
        [&](Result<drip::PipelineStatus> answer) { status = answer.value_or(drip::PipelineStatus{}); });
    // Twice: what is duplicated on the way counts too.
    const std::size_t most = 2 * (2 * kOutstandingMax + kFiringsOutstandingMax);
    if (status && status->outstanding > most) ledger_.fault("more is in hand than flow control allows");
  }

  void check_end();
  void check_event(const PlannedEvent& event, const std::map<std::string, broker::DeadLetter>& letters);
  void check_exact(const PlannedEvent& event, bool dead);
  void check_newcomers();
  std::map<std::string, broker::DeadLetter> letters();
  core::KeyView inspect(int key);
  void newcomer(const std::string& id, int key);
  [[nodiscard]] static std::string key_name(int key) { return "s:m" + std::to_string(key) + ":pay"; }

  [[nodiscard]] double seconds() const { return static_cast<double>(executor_.elapsed().count()) / 1e6; }

  Plan plan_;
  bool verbose_;
  Dice dice_;
  testing::VirtualClock clock_;
  testing::SimExecutor executor_{clock_};
  Ledger ledger_;
  SimSink sink_;
  VerdictLog verdicts_;
  core::StreamPtr stream_;
  std::unique_ptr<World> world_;
  std::optional<Life> life_;
  std::vector<PlannedEvent> produced_;
  std::set<std::string> lost_;
  bool troubles_over_ = false;
  bool units_may_age_ = false;
  bool letters_down_ = false;
  bool paused_ = false;
  int random_kills_ = 0;
  int kills_ = 0;
  std::uint64_t tasks_ = 0;
};

void History::act(const Planned& planned) {
  using Kind = Planned::Kind;
  switch (planned.kind) {
    case Kind::event:
      return produce(plan_.events.at(static_cast<std::size_t>(planned.number)));
    case Kind::freeze:
      return freeze(planned.key, planned.span);
    case Kind::kill:
      return kill("on time");
    case Kind::clock_back:
      return clock_.set(clock_.now() - planned.span);
    case Kind::limits: {
      auto changed = std::make_shared<core::Stream>(*stream_);
      changed->booking = plan_.later_limits.at(static_cast<std::size_t>(planned.number));
      stream_ = std::move(changed);
      return;
    }
    case Kind::letters_down:
    case Kind::letters_up:
      letters_down_ = planned.kind == Kind::letters_down;
      life_->trouble.letters_down = letters_down_;
      return;
    case Kind::pause:
    case Kind::resume:
      paused_ = planned.kind == Kind::pause;
      paused_ ? life_->pipeline.pause() : life_->pipeline.resume();
  }
}

void History::freeze(int key, Duration span) {
  const WallTime until = clock_.now() + span;
  life_->recorded.freeze(key_name(key), until, [](Result<void>) {});
  if (world_->make_durable()) return ledger_.commit();
  kill("by a failed commit");
}

std::map<std::string, broker::DeadLetter> History::letters() {
  std::map<std::string, broker::DeadLetter> found;
  life_->raw.dead_letters.list(0, 10'000, [&](Result<broker::DeadLetterPage> page) {
    if (!page) throw std::runtime_error("dead letters: " + page.error().detail);
    for (const broker::DeadLetter& letter : page->letters) found.emplace(letter.event_id, letter);
  });
  return found;
}

void History::check_end() {
  lost_.insert(life_->trouble.lost_events.begin(), life_->trouble.lost_events.end());
  const auto dead = letters();
  for (const PlannedEvent& event : produced_) check_event(event, dead);
  // A duplicate of a refused event that was given back and acked may book again and die with a kill: like a
  // lost timer, that booking leaves with its age.
  units_may_age_ = !lost_.empty() || (plan_.troubles.timer_refused > 0 && plan_.troubles.duplicated > 0);
  for (int key = 0; key < plan_.keys && !units_may_age_; ++key) {
    if (const auto view = inspect(key); view.pending != 0) {
      ledger_.fault(key_name(key) + ": " + std::to_string(view.pending) +
                    " units pending although nothing waits");
    }
  }
}

void History::check_event(const PlannedEvent& event, const std::map<std::string, broker::DeadLetter>& dead) {
  const auto letter = dead.find(event.malformed ? "m-" + event.id : event.id);
  const bool is_dead = letter != dead.end();
  if (!is_dead && sink_.seen(event.id).confirmed == 0 && !lost_.contains(event.id)) {
    ledger_.fault(event.id + " was lost: neither confirmed by the sink nor a dead letter");
  }
  if (event.malformed && (!is_dead || letter->second.reason != drip::reasons::kMalformedPayload)) {
    ledger_.fault(event.id + " is not JSON and should be a dead letter for that reason");
  }
  if (is_dead) {
    namespace reasons = drip::reasons;
    const std::string& reason = letter->second.reason;
    if (reason == reasons::kPoison || reason == reasons::kStoreRefused || reason == reasons::kIdConflict ||
        reason == reasons::kOverflowRefused || reason == reasons::kInvalidCost ||
        reason == reasons::kTooLarge || reason == reasons::kClaimLost) {
      ledger_.fault(event.id + " is a dead letter for no reason: " + reason + ", " + letter->second.detail);
    }
    if (letter->second.message.body != event.body) ledger_.fault(event.id + ": the letter has other bytes");
  }
  if (plan_.exact() && kills_ == 0 && !event.malformed) check_exact(event, is_dead);
}

void History::check_exact(const PlannedEvent& event, bool dead) {
  const Seen& seen = sink_.seen(event.id);
  if (!verdicts_.last.contains(event.id)) ledger_.fault(event.id + " got no verdict");
  if (seen.refused_to_confirm > 0) return;
  if (const int charges = ledger_.charges(event.id); charges > 1) {
    ledger_.fault(event.id + " was charged " + std::to_string(charges) + " times for one delivery");
  }
  const bool once = plan_.troubles.duplicated + plan_.troubles.ack_fails == 0;
  if (once && seen.received + static_cast<int>(dead) != 1) {
    ledger_.fault(event.id + " arrived " + std::to_string(seen.received) +
                  " times although nothing went wrong");
  }
}

core::KeyView History::inspect(int key) {
  core::KeyView seen;
  life_->raw.store.inspect(key_name(key), stream_->booking, [&](Result<core::KeyView> view) {
    if (!view) throw std::runtime_error("inspect: " + view.error().detail);
    seen = *view;
  });
  return seen;
}

void History::newcomer(const std::string& id, int key) {
  produce({.id = id,
           .body = R"({"id":")" + id + R"(","merchant":"m)" + std::to_string(key) + R"(","cost":1})",
           .key = key,
           .cost = 1,
           .malformed = false});
}

/// Once the backlog is gone a newcomer passes at once; units of lost timers leave with their age.
void History::check_newcomers() {
  for (int i = 0; i < kPokes && units_may_age_; ++i) {
    executor_.run_for(40min);
    for (int key = 0; key < plan_.keys; ++key)
      newcomer("poke" + std::to_string(i) + "-" + std::to_string(key), key);
    settle_down("after a newcomer");
  }
  executor_.run_for(20min + longest_window(*stream_->booking));
  for (int key = 0; key < plan_.keys; ++key) {
    const std::string id = "newcomer" + std::to_string(key);
    newcomer(id, key);
    settle_down("after the last newcomer");
    const auto verdict = verdicts_.last.find(id);
    if (verdict == verdicts_.last.end() || verdict->second != drip::EventVerdict::Kind::now) {
      ledger_.fault(id + " did not pass at once although nothing waits");
    }
    if (sink_.seen(id).confirmed == 0) ledger_.fault(id + " did not arrive");
    if (inspect(key).pending != 0) ledger_.fault(key_name(key) + ": units stay pending for ever");
  }
}

}  // namespace

Outcome play(std::uint64_t seed, bool verbose) {
  return History(seed, verbose).play();
}

}  // namespace dripgate::sim
