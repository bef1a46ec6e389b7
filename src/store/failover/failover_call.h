// FailoverCall: one request's way through FailoverStore. Kept alive by the store call it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "store/failover/failover_store.h"

namespace dripgate::store {

class FailoverCall : public std::enable_shared_from_this<FailoverCall> {
 public:
  /// `take` false: a peek.
  FailoverCall(FailoverStore& owner, GuardedCharges charges, bool take, Done<core::Decision> done);
  void start();

 private:
  using Members =
      absl::InlinedVector<std::size_t, core::kChargesInPlace>;  // places in the request, ascending
  struct Group {                                                // the charges of one shard
    std::size_t shard = 0;
    Members members;
    bool degraded = false;
    std::optional<WallTime> taken_at{};  // set: the store took them
  };
  /// What to do after some charges were decided.
  enum class Next : std::uint8_t { go_on, refuse, answered };

  void group();
  void ask_from(std::size_t first);
  void ask(std::size_t index, const core::Breaker::Permit& permit);
  void hear(std::size_t index, const core::Breaker::Permit& permit, Result<core::Decision> answer);
  [[nodiscard]] Next take_answer(Group& of, core::Decision decision);
  [[nodiscard]] Next degrade(const Members& members);
  [[nodiscard]] Next decide_locally(const Members& members);
  void set(std::size_t place, core::FailureMode mode);
  void refuse();
  void give_back();
  void refund(std::size_t index);
  void finish();
  [[nodiscard]] Charges charges_of(const Members& members) const;

  FailoverStore& owner_;
  GuardedCharges charges_;
  bool take_;
  Done<core::Decision> done_;
  core::Decision decision_;
  absl::InlinedVector<Group, 1> groups_;
  std::vector<LocalCounters::Taken> local_;
  std::optional<WallTime> store_now_;  // the earliest that a shard has told
  Members spent_;                      // outcomes that a refusal makes void
  std::string request_id_;             // made when something is refunded
};

}  // namespace dripgate::store
