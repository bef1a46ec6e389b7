// Replays: which allows of a policy with `idempotency` may be given again without a charge. Bounded: what was
// remembered first is forgotten first, and a retry is then charged as a new request. Single-threaded.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::check {

/// Allows that are remembered at a time, over all policies.
inline constexpr std::size_t kReplaysRememberedMax = 100'000;

/// What an allow is remembered under. The cost too: a larger request is another one. And the limits: what
/// they said before a reload is over. `escaped_key`: the request's idempotency key, by
/// core::escape_key_value.
[[nodiscard]] std::string replay_name(std::string_view counter_key, std::span<const core::Limit> limits,
                                      core::Units cost, std::string_view escaped_key);

class Replays {
 public:
  using Outcomes = core::LimitOutcomes;

  explicit Replays(std::size_t remembered_max = kReplaysRememberedMax) : max_(remembered_max) {}

  struct Taken {
    Outcomes outcomes;
    std::uint64_t allow = 0;  // which one it is a replay of
  };

  /// Takes one replay of what is remembered under `name`; empty: there is none left.
  [[nodiscard]] std::optional<Taken> take(const std::string& name, WallTime now);
  /// The request that took it was refused by another policy. What is remembered under `name` by now may be a
  /// later allow, which gets no replay that was never its own.
  void give_back(const std::string& name, std::uint64_t allow);
  /// The allow was refunded: the next request of this name is charged.
  void forget(const std::string& name) { allows_.erase(name); }
  /// From now on `replays` requests of this name are given `outcomes`, until `until`.
  void remember(const std::string& name, Outcomes outcomes, int replays, WallTime until);

 private:
  struct Allow {
    Outcomes outcomes;
    int left = 0;
    WallTime until;
    std::uint64_t sequence = 0;
  };
  void forget_first();

  const std::size_t max_;
  std::uint64_t sequence_ = 0;
  std::unordered_map<std::string, Allow> allows_;
  std::deque<std::pair<std::uint64_t, std::string>> order_;
};

}  // namespace dripgate::check
