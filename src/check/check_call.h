// CheckCall: one request's way through the Checker: replays, the enforced policies in one question, then each
// shadow policy in a question of its own (so that it takes part in no refusal). Kept alive by what it waits
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "check/check.h"

namespace dripgate::check {

class CheckCall : public std::enable_shared_from_this<CheckCall> {
 public:
  CheckCall(Checker& owner, Request request, Done<Answer> done);
  void start();

 private:
  using Members = absl::InlinedVector<std::size_t, core::kChargesInPlace>;  // places in answer_.policies
  struct TakenReplay {
    std::string name;
    std::uint64_t allow;
  };

  void take_replays();
  [[nodiscard]] bool refused_by_missing_key();
  [[nodiscard]] Members with_role(Role role) const;
  [[nodiscard]] store::GuardedCharges charges_of(const Members& members) const;
  template <class Then>
  void ask(const Members& members, Then then);
  void take(const Members& members, const core::Decision& decision);
  void ask_shadows(std::size_t next);
  void conclude();
  void judge(const core::Decision& decision, std::size_t place);
  void give_replays_back();
  void remember();
  void finish();
  [[nodiscard]] std::string replay_name(const PolicyAnswer& policy) const;

  Checker& owner_;
  Request request_;
  Done<Answer> done_;
  Answer answer_;
  WallTime began_;
  Members shadows_;
  std::vector<TakenReplay> taken_replays_;
  bool decided_ = false;  // answer_.now is the store's
};

}  // namespace dripgate::check
