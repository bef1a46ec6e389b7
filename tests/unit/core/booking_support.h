// What the booking tests share: one key driven by event ids, with the answers as words ("NOW", "AT 60000").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/booking.h"
#include "core/booking_plan.h"

namespace dripgate::testing {

/// Plans exactly what the gate allows, as the vectors and the reference do.
inline constexpr core::PlanRule kPlanIsGate{0, false};

[[nodiscard]] inline WallTime ms(std::int64_t value) {
  return WallTime{std::chrono::milliseconds{value}};
}

[[nodiscard]] inline core::Limit window_limit(core::Units limit, Duration window) {
  return {core::Algorithm::fixed_window, limit, window, limit, nullptr};
}
[[nodiscard]] inline core::Limit log_limit(core::Units limit, Duration window) {
  return {core::Algorithm::sliding_log, limit, window, limit, nullptr};
}
[[nodiscard]] inline core::Limit bucket_limit(core::Units limit, Duration window, core::Units capacity) {
  return {core::Algorithm::token_bucket, limit, window, capacity, nullptr};
}
[[nodiscard]] inline core::Limit day_limit(core::Units limit, std::shared_ptr<const Zone> zone) {
  return {core::Algorithm::fixed_window, limit, std::chrono::hours{24}, limit, std::move(zone)};
}

/// One key. Every call goes through the codec first, as a backend would do it.
class Drip {
 public:
  Drip(std::vector<core::Limit> limits, core::Spread spread, core::PlanRule rule = kPlanIsGate)
      : rule_(rule) {
    policy.limits = std::move(limits);
    policy.spread = spread;
    policy.max_delay = std::chrono::hours{24 * 3650};
  }

  core::ReserveAnswer reserve(const std::string& id, core::Units cost, WallTime now,
                              std::optional<WallTime> first = std::nullopt) {
    core::ReserveInput input;
    input.cost = cost;
    input.first_received = first;
    return reserve(id, input, now);
  }
  core::ReserveAnswer reserve(const std::string& id, const core::ReserveInput& input, WallTime now) {
    through_codec(id);
    return core::reserve(state, records[id], policy, input, now, rule_).value();
  }
  core::GateAnswer gate(const std::string& id, std::uint32_t generation, WallTime now) {
    core::GateInput ticket;
    ticket.generation = generation;
    if (const auto& record = records[id]) {
      ticket.slot = record->slot;
      ticket.cost = record->cost;
      ticket.first_received = record->first_received;
      ticket.body_digest = record->body_digest;
    }
    return gate(id, ticket, now);
  }
  core::GateAnswer gate(const std::string& id, const core::GateInput& ticket, WallTime now) {
    through_codec(id);
    return core::gate(state, records[id], policy, ticket, now, rule_).value();
  }
  bool release(const std::string& id, WallTime now) {
    core::EventRecord& record = *records[id];
    return core::release(state, record, policy, record.generation, now);
  }
  bool settle(const std::string& id) { return core::settle(*records[id], records[id]->generation); }

  core::BookingPolicy policy;
  core::KeyState state;
  std::map<std::string, std::optional<core::EventRecord>> records;

 private:
  void through_codec(const std::string& id) {
    state = core::decode_state(core::encode(state)).value();
    if (auto& record = records[id]) record = core::decode_record(core::encode(*record)).value();
  }

  core::PlanRule rule_;
};

/// "NOW", "AT 60000", "BEYOND 120000", "IMPOSSIBLE", "DUPLICATE", "CONFLICT": slots in ms since the epoch,
/// with a fraction only where there is one.
[[nodiscard]] std::string text(const core::ReserveAnswer& answer);
[[nodiscard]] std::string text(const core::GateAnswer& answer);
[[nodiscard]] std::string ms_text(WallTime t);

}  // namespace dripgate::testing
