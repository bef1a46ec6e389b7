#include "unit/core/booking_world.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "support/virtual_time.h"
#include "unit/core/booking_ledger.h"
#include "unit/core/booking_support.h"

namespace dripgate::testing {
namespace {

using core::EventState;
using core::GateOutcome;
using core::Limit;
using core::ReserveOutcome;
using core::Units;
using namespace std::chrono_literals;

constexpr int kCallsMax = 20000;  // a history that needs more does not come to an end
constexpr Duration kBackMax = 3s;
constexpr Duration kProbeStep = 50h;  // more than the longest window

class World {
 public:
  World(std::uint64_t seed, Trouble trouble)
      : random_(seed),
        trouble_(trouble),
        drip_(family(), chance(50) ? core::Spread::even : core::Spread::start, core::PlanRule{}),
        ledger_(drip_.policy.limits) {
    if (chance(20)) drip_.policy.max_delay = longest_ * range(1, 8);
    late_ = trouble == Trouble::clean ? 0us : Duration{range(0, 4) * range(0, 2'000'000)};
  }

  WorldReport run() {
    plan_history();
    while (!agenda_.empty() && report_.failure.empty()) step();
    if (report_.failure.empty()) finish();
    return report_;
  }

 private:
  struct Event {
    Units cost = 1;
    std::optional<WallTime> first;
    int moves = 0;
    bool settled = false;
    bool lost = false;           // its timer is gone
    bool dead_lettered = false;  // by the caller of reserve
    std::optional<WallTime> lease_end;
  };
  enum class Act { reserve, fire, reload, freeze, give_back, empty };
  struct Entry {
    Act act = Act::reserve;
    int event = 0;
    core::GateInput ticket;
  };

  std::int64_t range(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return range(1, 100) <= percent; }
  Duration span(Duration most) { return Duration{range(0, most.count())}; }
  [[nodiscard]] bool has(Trouble trouble) const {
    return trouble_ == trouble || trouble_ == Trouble::everything;
  }

  std::vector<Limit> family() {
    const auto zone = std::make_shared<Zone>(
        Zone{"Test/Zone", {{kLongAgo, -5h}, {kT0 + Duration{range(0, 86'400'000'000)}, -4h}}});
    const std::vector<std::vector<Limit>> families{
        {window_limit(range(1, 8), 60s)},
        {window_limit(range(1, 4), 1s), window_limit(range(3, 20), 60s)},
        {window_limit(range(1, 4), 1s), window_limit(range(3, 12), 20s), window_limit(range(6, 40), 120s)},
        {window_limit(range(1, 3), 1h), day_limit(range(4, 20), zone)},
        {window_limit(range(1, 6), 13s), window_limit(range(3, 15), 90s)},
        {bucket_limit(range(1, 12), 90s, range(1, 8))},
        {log_limit(range(1, 30), 10s)},
        {log_limit(range(2, 8), 10s), window_limit(range(5, 25), 60s)},
        {bucket_limit(range(1, 6), 10s, range(1, 5)), window_limit(range(4, 20), 60s),
         log_limit(range(3, 9), 30s)}};
    auto limits =
        families[static_cast<std::size_t>(range(0, static_cast<std::int64_t>(families.size()) - 1))];
    for (const Limit& limit : limits) longest_ = std::max(longest_, limit.window);
    return limits;
  }

  void plan_history() {
    const int events = static_cast<int>(range(10, 80));
    const Duration whole = longest_ * range(1, 5);
    Units most = drip_.policy.limits[0].max_cost();
    for (const Limit& limit : drip_.policy.limits) most = std::min(most, limit.max_cost());
    WallTime t = kT0;
    for (int id = 0; id < events; ++id) {
      if (chance(30)) t = kT0 + span(whole);
      events_[id].cost = std::min<Units>(most, chance(60) ? 1 : range(1, 3));
      at(t, {Act::reserve, id, {}});
      if (trouble_ != Trouble::clean && chance(10)) at(t + span(whole), {Act::reserve, id, {}});
    }
    const auto sometimes = [&](Trouble trouble, Act act, int most_often) {
      if (!has(trouble)) return;
      for (auto n = range(1, most_often); n > 0; --n)
        at(kT0 + span(2 * whole), {act, static_cast<int>(range(0, events - 1)), {}});
    };
    sometimes(Trouble::reloads, Act::reload, 3);
    sometimes(Trouble::freezes, Act::freeze, 3);
    sometimes(Trouble::given_back, Act::give_back, events / 3 + 1);
    if (trouble_ == Trouble::emptied || (trouble_ == Trouble::everything && chance(20)))
      at(kT0 + span(2 * whole), {Act::empty, 0, {}});
    if (has(Trouble::late) && chance(60)) {
      outage_start_ = kT0 + span(whole);
      outage_end_ = outage_start_ + span(2 * longest_);
    }
  }

  void at(WallTime t, Entry entry) { agenda_.emplace(t, std::move(entry)); }

  void step() {
    const auto [t, entry] = *agenda_.begin();
    agenda_.erase(agenda_.begin());
    if (++report_.calls > kCallsMax) return fail("it does not come to an end");
    real_ = t;
    now_ = has(Trouble::clock) && chance(20) ? t - span(kBackMax) : t;
    switch (entry.act) {
      case Act::reserve:
        return reserve(entry.event);
      case Act::fire:
        return fire(entry.event, entry.ticket);
      case Act::reload:
        return reload();
      case Act::freeze:
        return core::freeze(drip_.state, now_ + span(longest_));
      case Act::give_back:
        return give_back(entry.event);
      case Act::empty:
        return empty();
    }
  }

  // --- the calls

  void reserve(int id) {
    const auto known = record(id);
    const core::ReserveInput input = input_for(id);
    const auto expected = core::inspect(drip_.state, drip_.policy, now_).next_slot;
    const auto answer = drip_.reserve(std::to_string(id), input, now_);
    check_call(answer.now, id);
    const bool taken = answer.outcome == ReserveOutcome::now || answer.outcome == ReserveOutcome::at;
    if (taken && !known && input.cost == 1 && answer.slot != expected) fail("inspect told another next slot");
    if (answer.outcome == ReserveOutcome::now) return passed(id, known, answer);
    if (answer.outcome == ReserveOutcome::at) {
      events_[id].lease_end.reset();  // the release before is over
      return set_timer(id, answer.generation, answer.slot);
    }
    if (answer.outcome == ReserveOutcome::duplicate) return;
    ++report_.beyond;
    events_[id].dead_lettered = true;  // by whoever asked; the record says so only at the gate
  }

  core::ReserveInput input_for(int id) {
    core::ReserveInput input;
    input.cost = events_[id].cost;
    const WallTime clock = std::max(now_, drip_.state.last_seen);
    const auto& known = record(id);
    const bool replayed = known && known->state == EventState::dead_letter;
    const bool retried = known && known->state == EventState::released && chance(30);
    if (replayed || retried) input.after_generation = known->generation;
    if (replayed) events_[id].first = clock;
    if (!events_[id].first) events_[id].first = clock;
    input.first_received = events_[id].first;
    return input;
  }

  void passed(int id, const std::optional<core::EventRecord>& known, const core::ReserveAnswer& answer) {
    const bool repeated = known && known->state == EventState::released &&
                          known->generation == answer.generation && known->slot == answer.slot;
    if (answer.valid_until <= answer.now) fail("a release that is over when it is given");
    if (!repeated && answer.slot != answer.now) fail("released at another moment than now");
    if (!repeated) {
      if (trouble_ == Trouble::clean && drip_.state.pending() > 0 && latest_booked() > answer.now)
        fail("a newcomer passed what is booked");
      released(id, answer.now);
      events_[id].lease_end.reset();
    }
    settle_or_crash(id, false);
  }

  void fire(int id, const core::GateInput& ticket) {
    timers_.erase({id, ticket.generation});
    const auto known = record(id);
    const auto answer = drip_.gate(std::to_string(id), ticket, now_);
    check_call(answer.now, id);
    switch (answer.outcome) {
      case GateOutcome::go:
        if (known && known->state == EventState::booked && answer.now < known->slot) fail("released early");
        if (events_[id].lease_end && answer.now < *events_[id].lease_end) fail("released within its lease");
        released(id, answer.now);
        events_[id].lease_end = answer.now + kReleaseLease;
        return settle_or_crash(id, true);
      case GateOutcome::rebook:
        count_move(id, known, answer.slot);
        // The answer may be lost: the timer service then fires the old entry again.
        if (has(Trouble::crashes) && chance(10)) return at(real_ + span(20s), {Act::fire, id, ticket});
        return set_timer(id, answer.generation, answer.slot);
      case GateOutcome::duplicate:
        if (answer.generation > ticket.generation) set_timer(id, answer.generation, answer.slot);
        return;
      default:
        ++report_.beyond;
    }
  }

  void count_move(int id, const std::optional<core::EventRecord>& known, WallTime slot) {
    if (known && slot == known->slot) return;
    ++report_.moves;
    report_.most_moves = std::max(report_.most_moves, ++events_[id].moves);
    if (trouble_ == Trouble::clean) fail("a punctual timer moved");
  }

  void reload() {
    for (Limit& limit : drip_.policy.limits) {
      limit.limit = std::max<Units>(1, limit.limit * range(30, 200) / 100);
      if (limit.algorithm == core::Algorithm::token_bucket)
        limit.capacity = std::max<Units>(1, limit.capacity * range(50, 200) / 100);
      else
        limit.capacity = limit.limit;
    }
    ledger_.set_limits(drip_.policy.limits);
  }

  void give_back(int id) {
    const auto known = record(id);
    if (!known || known->state != EventState::booked) return;
    ledger_.tick(std::max(now_, drip_.state.last_seen));
    if (!drip_.release(std::to_string(id), now_)) fail("a booking was not given back");
    if (chance(50)) at(real_ + span(longest_), {Act::reserve, id, {}});
  }

  void empty() {
    drip_.state = {};
    drip_.records.clear();
    ledger_.forget();
    clock_ = kLongAgo;
    leak_.reset();
    for (auto& [id, event] : events_) event.lease_end.reset();
    for (auto& [id, event] : events_) event.settled = false;
  }

  // --- what follows from answers

  void released(int id, WallTime now) {
    ++report_.releases;
    if (now < drip_.state.frozen_until) fail("released in a freeze");
    if (const std::string exceeded = ledger_.release(now, events_[id].cost); !exceeded.empty())
      fail(exceeded);
    if (events_[id].settled) fail("event " + std::to_string(id) + " was released after it was done");
  }

  void settle_or_crash(int id, bool by_timer) {
    const core::EventRecord known = *record(id);
    if (has(Trouble::crashes) && chance(15)) {
      const WallTime later = real_ + span(100s);
      if (!by_timer) return at(later, {Act::reserve, id, {}});
      return at(later, {Act::fire, id, ticket_of(known, known.generation, known.slot)});
    }
    if (!drip_.settle(std::to_string(id))) fail("what was released does not settle");
    events_[id].settled = true;
  }

  static core::GateInput ticket_of(const core::EventRecord& record, std::uint32_t generation, WallTime slot) {
    return {.generation = generation,
            .slot = slot,
            .cost = record.cost,
            .first_received = record.first_received,
            .body_digest = record.body_digest};
  }

  void set_timer(int id, std::uint32_t generation, WallTime slot) {
    if (trouble_ == Trouble::clean && slot < latest_booked()) fail("booked before an earlier event");
    if (!timers_.emplace(id, generation).second) return;  // the timer service has this entry
    if (has(Trouble::lost) && chance(10)) {
      events_[id].lost = true;
      return;
    }
    const core::GateInput ticket = ticket_of(*record(id), generation, slot);
    WallTime t = std::max(real_, slot + span(late_));
    if (t >= outage_start_ && t < outage_end_) t = outage_end_ + span(5s);
    if (trouble_ != Trouble::clean && chance(2)) t = std::max(real_, slot - span(2s));
    at(t, {Act::fire, id, ticket});
    if (has(Trouble::late) && chance(10)) at(t + span(longest_), {Act::fire, id, ticket});
  }

  // --- what always holds

  void check_call(WallTime clock, int id) {
    if (clock < clock_) fail("the key's clock went back");
    clock_ = clock;
    ledger_.tick(clock);
    if (record(id) && record(id)->repairs > kRepairsMax) fail("repaired too often");
    if (!leak_) leak_ = drip_.state.leak;
    const Units sum = booked_units();
    const bool aged = drip_.state.leak != *leak_;  // what is late by ages is not counted any more
    if (aged ? drip_.state.pending() > sum : drip_.state.pending() != sum)
      fail("pending is " + std::to_string(drip_.state.pending()) + ", booked are " + std::to_string(sum));
  }

  [[nodiscard]] Units booked_units() const {
    Units sum = 0;
    for (const auto& [key, known] : drip_.records)
      if (known && known->state == EventState::booked) sum += known->cost;
    return sum;
  }

  [[nodiscard]] WallTime latest_booked() const {
    WallTime latest = kLongAgo;
    for (const auto& [key, known] : drip_.records)
      if (known && known->state == EventState::booked) latest = std::max(latest, known->slot);
    return latest;
  }

  std::optional<core::EventRecord>& record(int id) { return drip_.records[std::to_string(id)]; }

  // --- the end

  void finish() {
    for (const auto& [id, event] : events_) {
      const auto& known = record(id);
      if (!known || event.lost || event.dead_lettered) continue;
      if (known->state == EventState::booked || known->state == EventState::released)
        return fail("event " + std::to_string(id) + " never came to an end");
    }
    // What was lost ages out as newcomers come, at most two ages behind the end of its replay; without losses
    // the first one passes.
    const auto& state = drip_.state;
    WallTime t = std::max({real_, state.frozen_until, state.unknown_until});
    const int probes = has(Trouble::lost) ? 4 : 1;
    for (int probe = 0; probe < probes; ++probe) {
      t = std::max(t, state.tail.at) + kProbeStep;
      const std::string id = "probe" + std::to_string(probe);
      const auto answer = drip_.reserve(id, 1, t);
      if (answer.outcome == ReserveOutcome::now && state.pending() == 0) return;
      if (answer.outcome == ReserveOutcome::at) drip_.release(id, t);
    }
    fail("a newcomer does not pass although nothing is left, pending " + std::to_string(state.pending()));
  }

  void fail(const std::string& what) {
    if (report_.failure.empty()) report_.failure = what + " (call " + std::to_string(report_.calls) + ")";
  }

  std::mt19937_64 random_;
  Trouble trouble_;
  Duration longest_{};
  Drip drip_;
  Ledger ledger_;
  std::multimap<WallTime, Entry> agenda_;
  std::map<int, Event> events_;
  std::set<std::pair<int, std::uint32_t>> timers_;
  Duration late_{};
  WallTime outage_start_ = kLongAgo;
  WallTime outage_end_ = kLongAgo;
  WallTime real_ = kT0;
  WallTime now_ = kT0;
  WallTime clock_ = kLongAgo;
  std::optional<std::uint32_t> leak_;
  WorldReport report_;
};

}  // namespace

WorldReport run_random_history(std::uint64_t seed, Trouble trouble) {
  return World(seed, trouble).run();
}

}  // namespace dripgate::testing
