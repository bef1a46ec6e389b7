#include "store/failover/failover_refund.h"

#include <algorithm>
#include <utility>

namespace dripgate::store {

void FailoverRefund::start() {
  std::vector<Part> parts;
  for (Charge& charge : refund_.charges) {
    const std::size_t shard = owner_.shard_of_(charge.key);
    auto part = std::ranges::find(parts, shard, &Part::shard);
    if (part == parts.end()) part = parts.insert(parts.end(), Part{shard, {}});
    part->charges.push_back(std::move(charge));
  }
  const bool reachable =
      std::ranges::all_of(parts, [&](const Part& part) { return owner_.breakers_.admits(part.shard); });
  if (!reachable) return done_(fail(ErrorCode::unavailable, "the store does not answer right now", true));
  missing_ = parts.size();
  for (Part& part : parts) ask(std::move(part));
}

/// Each shard remembers the id by itself, so that a caller who repeats itself is heard once by each.
void FailoverRefund::ask(Part part) {
  const auto permit = owner_.breakers_.admit(part.shard);
  if (!permit) {
    error_ = Error{ErrorCode::unavailable, true, "the store does not answer right now"};
    if (--missing_ == 0) done_(std::unexpected(*std::move(error_)));
    return;
  }
  auto heard = [self = shared_from_this(), shard = part.shard, permit = *permit,
                asked = part.charges.front()](Result<bool> answer) {
    self->hear(shard, permit, asked, std::move(answer));
  };
  owner_.store_.refund({.charges = std::move(part.charges),
                        .consumed_at = refund_.consumed_at,
                        .request_id = refund_.request_id},
                       owner_.guard_.wrap(std::move(heard)));
}

void FailoverRefund::hear(std::size_t shard, const core::Breaker::Permit& permit, const Charge& asked,
                          Result<bool> answer) {
  owner_.breakers_.report(shard, permit, answer ? nullptr : &answer.error(), asked);
  if (answer) {
    given_back_ = given_back_ || *answer;
  } else {
    error_ = std::move(answer).error();
  }
  if (--missing_ > 0) return;
  error_ ? done_(std::unexpected(*std::move(error_))) : done_(given_back_);
}

}  // namespace dripgate::store
