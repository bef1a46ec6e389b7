#include "sim/ledger.h"

#include <algorithm>
#include <array>

#include "base/rfc3339.h"

namespace dripgate::sim {
namespace {

std::string text(WallTime t) {
  return format_rfc3339(t);
}

}  // namespace

void Ledger::charge(const std::string& key, Charge charge) {
  Key& state = keys_[key];
  const WallTime frozen = std::max(state.frozen_until, state.frozen_staged);
  if (charge.at < frozen) {
    fault(charge.event_id + " was let go at " + text(charge.at) + " although " + key + " is frozen until " +
          text(frozen));
  }
  if (!state.charges.empty() && charge.at < state.charges.back().at) {
    fault(key + ": the store's clock went back from " + text(state.charges.back().at) + " to " +
          text(charge.at));
  }
  const core::BookingPolicyPtr policy = charge.policy;
  state.charges.push_back(std::move(charge));
  for (const core::Limit& limit : policy->limits) check_limit(key, limit, state.charges.size() - 1);
}

void Ledger::check_limit(const std::string& key, const core::Limit& limit, std::size_t index) {
  const std::vector<Charge>& charges = keys_[key].charges;
  const Charge& last = charges[index];
  if (limit.algorithm == core::Algorithm::token_bucket) {
    // Theoretical arrival time, numerator over `limit`. Spans that cross a change of limits are not checked.
    __int128 tat = 0;
    for (const Charge& charge : charges) {
      if (charge.policy != last.policy) {
        tat = 0;
        continue;
      }
      const __int128 now = static_cast<__int128>(to_us(charge.at)) * limit.limit;
      tat = std::max(tat, now) + static_cast<__int128>(charge.cost) * limit.window.count();
    }
    const __int128 now = static_cast<__int128>(to_us(last.at)) * limit.limit;
    if (tat - now > static_cast<__int128>(limit.capacity) * limit.window.count()) {
      fault(key + ": bucket of " + std::to_string(limit.capacity) + " exceeded at " + text(last.at) + " by " +
            last.event_id);
    }
    return;
  }
  const WallTime from = limit.algorithm == core::Algorithm::fixed_window
                            ? WallTime{last.at.time_since_epoch() - last.at.time_since_epoch() % limit.window}
                            : last.at - limit.window + 1us;
  core::Units units = 0;
  for (const Charge& charge : charges) units += charge.at >= from ? charge.cost : 0;
  if (units > limit.limit) {
    fault(key + ": " + std::to_string(units) + " units in a window of " +
          std::to_string(limit.window.count()) + " us, limit " + std::to_string(limit.limit) + ", at " +
          text(last.at) + " by " + last.event_id);
  }
}

void Ledger::freeze(const std::string& key, WallTime until) {
  Key& state = keys_[key];
  state.frozen_staged = std::max(state.frozen_staged, until);
}

void Ledger::check_horizon(bool accepted, WallTime slot, WallTime first, const core::BookingPolicy& policy,
                           const std::string& event_id) {
  if ((slot - first <= policy.max_delay) == accepted) return;
  fault(event_id + ": slot " + text(slot) + ", first received " + text(first) + ", horizon " +
        std::to_string(policy.max_delay.count()) + " us: " + (accepted ? "accepted" : "refused"));
}

void Ledger::booked(const std::string& key, const std::string& event_id, WallTime slot) {
  keys_[key].slots[event_id] = slot;
}

void Ledger::unbooked(const std::string& key, const std::string& event_id) {
  keys_[key].slots.erase(event_id);
}

void Ledger::newcomer_passed(const std::string& key, const std::string& event_id, WallTime now) {
  for (const auto& [other, slot] : keys_[key].slots) {
    if (slot > now)
      return fault(event_id + " passed at " + text(now) + " before " + other + ", booked for " + text(slot));
  }
}

void Ledger::commit() {
  for (auto& [name, key] : keys_) {
    for (auto it = key.charges.rbegin(); it != key.charges.rend() && it->staged; ++it) it->staged = false;
    key.frozen_until = std::max(key.frozen_until, key.frozen_staged);
    key.durable_slots = key.slots;
  }
}

void Ledger::roll_back() {
  for (auto& [name, key] : keys_) {
    std::erase_if(key.charges, [](const Charge& charge) { return charge.staged; });
    key.frozen_staged = kLongAgo;
    key.slots = key.durable_slots;
  }
}

std::size_t Ledger::releases(const std::string& key, const std::string& event_id,
                             WallTime released_ms) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(found->second.charges, [&](const Charge& charge) {
    return !charge.staged && charge.event_id == event_id &&
           std::chrono::floor<std::chrono::milliseconds>(charge.at) == released_ms;
  }));
}

int Ledger::charges(const std::string& event_id) const {
  std::ptrdiff_t count = 0;
  for (const auto& [name, key] : keys_) {
    count += std::ranges::count(key.charges, event_id, &Charge::event_id);
  }
  return static_cast<int>(count);
}

bool Ledger::has(const std::string& key, const std::string& event_id, WallTime at,
                 std::optional<std::uint32_t> after_generation) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && std::ranges::any_of(found->second.charges, [&](const Charge& charge) {
           return charge.at == at && charge.event_id == event_id &&
                  (!after_generation || charge.generation > *after_generation);
         });
}

void RecordingStore::reserve(store::ReserveRequest request, Done<core::ReserveAnswer> done) {
  inner_.reserve(request,
                 [this, request, done = std::move(done)](Result<core::ReserveAnswer> answer) mutable {
                   if (answer) seen(request, *answer);
                   done(std::move(answer));
                 });
}

void RecordingStore::seen(const store::ReserveRequest& request, const core::ReserveAnswer& answer) {
  constexpr std::array kWords{"now", "at", "beyond", "impossible", "duplicate", "conflict"};
  ledger_.note("reserve " + request.event_id +
               (request.after_generation ? " after g" + std::to_string(*request.after_generation) : "") +
               ": " + kWords[static_cast<std::size_t>(answer.outcome)] + " g" +
               std::to_string(answer.generation) + " slot " + text(answer.slot) + " now " + text(answer.now));
  using Outcome = core::ReserveOutcome;
  if (answer.outcome == Outcome::now &&
      !ledger_.has(request.key, request.event_id, answer.slot, request.after_generation)) {
    if (!request.after_generation && ledger_.charges(request.event_id) == 0) {
      ledger_.newcomer_passed(request.key, request.event_id, answer.now);
    }
    ledger_.unbooked(request.key, request.event_id);
    ledger_.charge(request.key, {.at = answer.slot,
                                 .cost = request.cost,
                                 .event_id = request.event_id,
                                 .generation = answer.generation,
                                 .policy = request.policy});
  }
  if (answer.outcome == Outcome::at) ledger_.booked(request.key, request.event_id, answer.slot);
  if (answer.outcome == Outcome::at || answer.outcome == Outcome::beyond_horizon) {
    ledger_.check_horizon(answer.outcome == Outcome::at, answer.slot, answer.first_received, *request.policy,
                          request.event_id);
  }
}

void RecordingStore::gate(store::GateRequest request, Done<core::GateAnswer> done) {
  inner_.gate(request, [this, request, done = std::move(done)](Result<core::GateAnswer> answer) mutable {
    if (answer) seen(request, *answer);
    done(std::move(answer));
  });
}

void RecordingStore::seen(const store::GateRequest& request, const core::GateAnswer& answer) {
  constexpr std::array kWords{"go", "rebook", "beyond", "impossible", "duplicate"};
  ledger_.note("gate " + request.ticket.event_id + " g" + std::to_string(request.ticket.generation) + ": " +
               kWords[static_cast<std::size_t>(answer.outcome)] + " g" + std::to_string(answer.generation) +
               " slot " + text(answer.slot) + " now " + text(answer.now));
  const store::Ticket& ticket = request.ticket;
  if (answer.outcome == core::GateOutcome::go) {
    ledger_.charge(ticket.key, {.at = answer.slot,
                                .cost = ticket.cost,
                                .event_id = ticket.event_id,
                                .generation = ticket.generation,
                                .policy = request.policy});
  }
  const bool lease = ledger_.has(ticket.key, ticket.event_id, answer.slot - kReleaseLease, {});
  if (answer.outcome == core::GateOutcome::rebook && !lease) {
    ledger_.booked(ticket.key, ticket.event_id, answer.slot);
  } else if (answer.outcome != core::GateOutcome::duplicate) {
    ledger_.unbooked(ticket.key, ticket.event_id);
  }
  // REBOOK is not checked: to the end of a release lease is no booking.
  if (answer.outcome == core::GateOutcome::beyond_horizon) {
    ledger_.check_horizon(false, answer.slot, answer.first_received, *request.policy, ticket.event_id);
  }
}

}  // namespace dripgate::sim
