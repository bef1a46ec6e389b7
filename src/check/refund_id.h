// RefundIds: what a check took, as a text that the caller can hand back: keys, cost and time, sealed with a
// secret, so that no process has to remember it and nobody can make one up. Limits are looked up again in
// the config in force. Pure; thread-safe to read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "base/result.h"
#include "base/time.h"
#include "check/answer.h"
#include "store/counter_store.h"

namespace dripgate::check {

/// Longer texts are no ids of ours: kChargesPerRequestMax policies with the longest keys stay below.
inline constexpr std::size_t kRefundIdBytesMax = 256u << 10;

/// What an id gives back.
struct Refundable {
  store::Refund refund;
  std::vector<std::string> replays;  // replay_name of what may be replayed on the strength of it
};

class RefundIds {
 public:
  explicit RefundIds(const HashKey& secret);

  /// Of an allowed answer: what the store took for `cost` units; empty: nothing. `idempotency_key`: the
  /// request's, if any.
  [[nodiscard]] std::string make(const Answer& answer, core::Units cost, std::string_view idempotency_key);
  /// The charges under the limits in force now; of policies that are gone, or that count by other windows or
  /// in another way now, none. Error: invalid_argument.
  [[nodiscard]] Result<Refundable> read(const std::string& id, const config::Config& config) const;

 private:
  HashKey secret_;
  std::string process_;  // no other process has it
  std::uint64_t made_ = 0;
};

}  // namespace dripgate::check
