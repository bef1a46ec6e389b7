#include "sim/plan.h"

#include <algorithm>
#include <tuple>

namespace dripgate::sim {
namespace {

using core::Algorithm;
using core::Limit;

Limit window(core::Units units, Duration span) {
  return {
      .algorithm = Algorithm::fixed_window, .limit = units, .window = span, .capacity = units, .zone = {}};
}
Limit log(core::Units units, Duration span) {
  return {.algorithm = Algorithm::sliding_log, .limit = units, .window = span, .capacity = units, .zone = {}};
}
Limit bucket(core::Units units, Duration span, core::Units capacity) {
  return {
      .algorithm = Algorithm::token_bucket, .limit = units, .window = span, .capacity = capacity, .zone = {}};
}

std::vector<Limit> family(Dice& dice) {
  const core::Units n = dice.between(2, 6);
  switch (dice.between(0, 8)) {
    case 0:
      return {window(n, 1s)};
    case 1:
      return {window(n, 60s)};
    case 2:
      return {window(3, 1s), window(n + 6, 10s)};
    case 3:
      return {log(n, 5s)};
    case 4:
      return {bucket(n, 10s, dice.between(2, 5))};
    case 5:
      return {window(3, 2s), window(n + 3, 5s)};
    case 6:
      return {window(3, 1s), log(n + 3, 7s)};
    case 7:
      return {bucket(6, 10s, 4), window(2, 1s), window(20, 60s)};
    default:
      return {window(n, 10s)};
  }
}

core::BookingPolicyPtr changed_limits(const core::BookingPolicy& before, Dice& dice) {
  auto policy = std::make_shared<core::BookingPolicy>(before);
  for (Limit& limit : policy->limits) {
    limit.limit = std::max<core::Units>(2, limit.limit * dice.between(4, 20) / 10);
    limit.capacity =
        limit.algorithm == Algorithm::token_bucket ? std::max<core::Units>(2, limit.capacity) : limit.limit;
  }
  return policy;
}

core::StreamPtr make_stream(Dice& dice) {
  auto policy = std::make_shared<core::BookingPolicy>();
  policy->limits = family(dice);
  policy->spread = dice.chance(1, 2) ? core::Spread::even : core::Spread::start;
  // Either so far that only trouble reaches it, or exactly on a window's edge: first received at whole
  // seconds, slots at whole seconds.
  policy->max_delay = dice.chance(2, 3) ? Duration{1h} : Duration{std::chrono::seconds{dice.between(3, 40)}};
  auto stream = std::make_shared<core::Stream>(core::Stream{
      .id = "s",
      .key = core::KeyTemplate::parse("{merchant}:pay").value(),
      .event_id = core::KeyTemplate::parse("{id}").value(),
      .cost = core::KeyTemplate::parse("{cost}").value(),
      .booking = policy,
      .on_missing_key = core::StreamMissingKey::default_key,
      .overflow_topic = "s-overflow",
      .dead_letter_topic = "s-dead",
  });
  stream->max_attempts = static_cast<int>(dice.between(2, 5));
  stream->retries_cost = dice.chance(4, 5);
  return stream;
}

/// What a history is about: nothing goes wrong, only the sink does, or everything.
enum class Mood { calm, sink_only, everything };

Troubles draw_troubles(Dice& dice, Mood mood, bool sqlite) {
  Troubles t;
  if (mood == Mood::calm) return t;
  const auto some = [&dice](int one_in, int most) {
    return dice.chance(1, one_in) ? static_cast<int>(dice.between(1, most)) : 0;
  };
  t.sink_fails = some(2, 250);
  t.sink_lost_reply = some(3, 100);
  t.sink_rate_limits = some(3, 150);
  t.sink_refuses = some(4, 100);
  if (mood == Mood::sink_only) return t;
  t.sink_slow = some(3, 200);
  if (dice.chance(1, 2)) {
    t.port_fails = some(2, 60);
    t.reply_lost = some(2, 60);
    t.reply_late = some(2, 100);
    t.timer_early = some(3, 200);
    t.timer_late = some(2, 300);
    if (!sqlite) t.timer_lost = some(3, 100);
  }
  t.timer_refused = some(4, 150);
  t.ack_fails = some(2, 150);
  t.duplicated = some(2, 150);
  return t;
}

void draw_events(Plan& plan, Dice& dice) {
  const int bursts = static_cast<int>(dice.between(1, 3));
  core::Units cost_max = 1;
  if (dice.chance(1, 2)) cost_max = dice.between(2, 3);
  int number = 0;
  for (int burst = 0; burst < bursts; ++burst) {
    const Duration at = std::chrono::seconds{dice.between(0, 20)};
    const bool together = dice.chance(1, 2);
    for (std::int64_t left = dice.between(3, 16); left > 0; --left, ++number) {
      PlannedEvent event{
          .id = "e" + std::to_string(number), .body = {}, .key = 0, .cost = 1, .malformed = false};
      event.key = static_cast<int>(dice.between(0, plan.keys - 1));
      event.cost = dice.between(1, cost_max);
      if (dice.chance(1, 80)) event.cost = 9;
      event.malformed = dice.chance(1, 60);
      event.body = event.malformed
                       ? "no json " + event.id
                       : " {\"id\":\"" + event.id + "\", \"merchant\":\"m" + std::to_string(event.key) +
                             "\",\"cost\":" + std::to_string(event.cost) + ",\"amount\": 2500.00}\n";
      plan.timeline.push_back(
          {.at = together ? at : at + dice.span(0us, 3s), .number = number, .key = event.key});
      plan.events.push_back(std::move(event));
    }
  }
}

void draw_disturbances(Plan& plan, Mood mood, Dice& dice) {
  const auto add = [&](Planned::Kind kind, Duration latest) -> Planned& {
    plan.timeline.push_back({.at = dice.span(0us, latest), .kind = kind});
    plan.timeline.back().key = static_cast<int>(dice.between(0, plan.keys - 1));
    return plan.timeline.back();
  };
  using Kind = Planned::Kind;
  if (dice.chance(1, 3)) {
    for (int i = static_cast<int>(dice.between(1, 2)); i > 0; --i) {
      plan.later_limits.push_back(changed_limits(*plan.stream->booking, dice));
      add(Kind::limits, 40s).number = static_cast<int>(plan.later_limits.size()) - 1;
    }
  }
  if (dice.chance(1, 4)) add(Kind::freeze, 20s).span = dice.span(1s, 30s);
  if (mood != Mood::everything) return;
  if (dice.chance(1, 4)) {
    for (int i = static_cast<int>(dice.between(1, 3)); i > 0; --i)
      add(Kind::clock_back, 30s).span = dice.span(1ms, 4s);
  }
  if (dice.chance(1, 6)) {
    Planned& down = add(Kind::letters_down, 20s);
    const Duration up = down.at + dice.span(1s, 60s);
    add(Kind::letters_up, 1s).at = up;
  }
  if (dice.chance(1, 8)) {
    Planned& pause = add(Kind::pause, 20s);
    const Duration resume = pause.at + dice.span(1s, 20s);
    add(Kind::resume, 1s).at = resume;
  }
  if (dice.chance(1, 2)) {
    plan.kills_between_steps = static_cast<int>(dice.between(1, 12));
    for (int i = static_cast<int>(dice.between(0, 2)); i > 0; --i) add(Kind::kill, 60s);
  }
}

}  // namespace

Duration longest_window(const core::BookingPolicy& policy) {
  Duration longest{};
  for (const Limit& limit : policy.limits) {
    // A bucket is full again after capacity / rate.
    const Duration span = limit.algorithm == Algorithm::token_bucket
                              ? limit.window * (limit.capacity + limit.limit - 1) / limit.limit
                              : limit.window;
    longest = std::max(longest, span);
  }
  return longest;
}

bool Plan::exact() const {
  if (!troubles.ports_are_well() || troubles.sink_slow > 0 || kills_between_steps > 0) return false;
  return std::ranges::none_of(timeline, [](const Planned& planned) {
    using Kind = Planned::Kind;
    return planned.kind == Kind::kill || planned.kind == Kind::clock_back ||
           planned.kind == Kind::letters_down || planned.kind == Kind::pause;
  });
}

Plan make_plan(std::uint64_t seed) {
  Dice dice(seed);
  Plan plan;
  plan.seed = seed;
  plan.sqlite = seed % 2 == 1;
  plan.stream = make_stream(dice);
  plan.keys = static_cast<int>(dice.between(1, 3));
  const std::int64_t thrown = dice.between(0, 7);
  const Mood mood = thrown == 0 ? Mood::calm : thrown <= 2 ? Mood::sink_only : Mood::everything;
  plan.troubles = draw_troubles(dice, mood, plan.sqlite);
  draw_events(plan, dice);
  if (dice.chance(4, 5)) draw_disturbances(plan, mood, dice);
  plan.troubles_end = dice.span(30s, 180s);
  std::ranges::sort(plan.timeline, [](const Planned& a, const Planned& b) {
    return std::tie(a.at, a.kind, a.number, a.key, a.span) < std::tie(b.at, b.kind, b.number, b.key, b.span);
  });
  return plan;
}

}  // namespace dripgate::sim
