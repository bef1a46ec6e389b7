// A random history of the gate's two APIs, told to a running gate and to the plain model side by side: what
// the one answers, the other must. Made of a seed; the same seed makes the same history.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/counter_model.h"
#include "integration_rls/gate_world.h"

namespace dripgate::histories {

/// Policies of one, two and three hash tags, of all three algorithms; the model's limits stand in
/// gate_history.cc.
extern const char* const kPolicies;

/// What histories have come across: a generator that never gets there proves nothing.
struct Reached {
  int allowed = 0, denied = 0, impossible = 0, peeks = 0, two_slots = 0, partly_denied = 0, overridden = 0;
  int shadow_denied = 0, refunds = 0, refunds_repeated = 0, refunds_late = 0;
  int rls_allowed = 0, rls_denied = 0, rls_given_back = 0, promises_kept = 0, promises_one_short = 0;
};

class GateHistory {
 public:
  /// `world` has more policies, never other keys: a history begins later than the one before it ended.
  GateHistory(GateWorld& world, HttpCaller& http, rls_v3::RateLimitService::Stub& rls, Where where,
              Reached& reached, std::uint64_t seed);

  /// Empty: the gate said what the model says, at every step.
  [[nodiscard]] std::string run();

 private:
  struct Facts {
    std::string user, tenant, ip;  // empty: not named
    bool login = false;
  };
  /// A policy that the facts take: its charges, as the model counts them.
  struct Asked {
    const char* policy;
    store::Charges charges;
    bool shadow = false;
  };
  /// What the model says of one check.
  struct Told {
    bool allowed = false, impossible = false;
    std::optional<Duration> wait{};
    std::vector<std::pair<const char*, core::Units>> remaining{};  // per policy that was asked
    store::Charges taken{};                                        // shadow ones too
  };
  struct Taken {
    std::string id;  // of the gate
    store::Refund refund;
    bool repeated = false;
  };

  int upto(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void note(const std::string& what, bool yes);
  void advance();
  [[nodiscard]] Facts random_facts(int group);
  [[nodiscard]] core::Units random_cost();
  [[nodiscard]] std::vector<Asked> asked(const Facts& facts, core::Units cost) const;
  [[nodiscard]] Told tell_model(const Facts& facts, core::Units cost, bool peek);
  [[nodiscard]] std::string compare(const nlohmann::json& said, const Told& told, bool peek);

  std::string check();
  std::string check(const Facts& facts, core::Units cost, bool peek);
  std::string refund();
  std::string call();
  std::string settle();

  GateWorld& world_;
  HttpCaller& http_;
  rls_v3::RateLimitService::Stub& rls_;
  Where where_;
  Reached& reached_;
  std::mt19937_64 random_;
  std::string name_;
  std::string trace_;  // what was asked and what the model says, a line each
  testing::CounterModel model_;
  std::vector<Taken> taken_;
  std::optional<WallTime> promised_;  // when the check that was denied last can pass
  int refunds_ = 0;
};

}  // namespace dripgate::histories
