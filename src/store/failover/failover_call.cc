// The order of things: what cannot be asked is decided first, since it costs nothing to wait for or to give
// back; then one shard after the other. The last step of every way is `done_`: it may destroy the owner.
#include "store/failover/failover_call.h"

#include <algorithm>
#include <utility>

namespace dripgate::store {

using core::FailureMode;
using core::Verdict;

FailoverCall::FailoverCall(FailoverStore& owner, GuardedCharges charges, bool take, Done<core::Decision> done)
    : owner_(owner), charges_(std::move(charges)), take_(take), done_(std::move(done)) {
  decision_.now = owner_.clock_.now();
  decision_.outcomes.resize(charges_.size(), core::LimitOutcome{.has_numbers = false, .retry_after = {}});
}

void FailoverCall::start() {
  group();
  Members unasked;
  for (Group& of : groups_) {
    of.degraded = !owner_.breakers_.admits(of.shard);
    if (of.degraded) unasked.insert(unasked.end(), of.members.begin(), of.members.end());
  }
  switch (degrade(unasked)) {
    case Next::go_on:
      return ask_from(0);
    case Next::refuse:
      return refuse();
    case Next::answered:
      return;
  }
}

void FailoverCall::group() {
  for (std::size_t place = 0; place < charges_.size(); ++place) {
    const std::size_t shard = owner_.shard_of_(charges_[place].charge.key);
    const auto of = std::ranges::find(groups_, shard, &Group::shard);
    Group& group = of == groups_.end() ? groups_.emplace_back(Group{.shard = shard, .members = {}}) : *of;
    group.members.push_back(place);
  }
}

void FailoverCall::ask_from(std::size_t first) {
  for (std::size_t index = first; index < groups_.size(); ++index) {
    if (groups_[index].degraded) continue;
    if (const auto permit = owner_.breakers_.admit(groups_[index].shard)) return ask(index, *permit);
    switch (degrade(groups_[index].members)) {  // it opened while another shard was asked
      case Next::go_on:
        continue;
      case Next::refuse:
        return refuse();
      case Next::answered:
        return;
    }
  }
  finish();
}

void FailoverCall::ask(std::size_t index, const core::Breaker::Permit& permit) {
  auto heard = owner_.guard_.wrap([self = shared_from_this(), index, permit](Result<core::Decision> answer) {
    self->hear(index, permit, std::move(answer));
  });
  if (take_) return owner_.store_.consume(charges_of(groups_[index].members), std::move(heard));
  owner_.store_.peek(charges_of(groups_[index].members), std::move(heard));
}

void FailoverCall::hear(std::size_t index, const core::Breaker::Permit& permit,
                        Result<core::Decision> answer) {
  Group& of = groups_[index];
  const Error* error = answer ? nullptr : &answer.error();
  owner_.breakers_.report(of.shard, permit, error, charges_[of.members.front()].charge);
  Next next = Next::answered;
  if (answer) {
    next = take_answer(of, *std::move(answer));
  } else if (error->code == ErrorCode::invalid_argument) {
    give_back();
    done_(std::unexpected(*error));
  } else {
    next = degrade(of.members);
  }
  if (next == Next::go_on) return ask_from(index + 1);
  if (next == Next::refuse) refuse();
}

FailoverCall::Next FailoverCall::take_answer(Group& of, core::Decision decision) {
  store_now_ = std::min(store_now_.value_or(decision.now), decision.now);
  const bool took = decision.verdict == Verdict::allow;
  for (std::size_t i = 0; i < of.members.size(); ++i)
    decision_.outcomes[of.members[i]] = decision.outcomes[i];
  if (!took) return Next::refuse;
  if (take_) of.taken_at = decision.now;
  // What a peek of no cost says is so, whatever the others say.
  for (const std::size_t place : of.members)
    if (take_ || charges_[place].charge.cost > 0) spent_.push_back(place);
  return Next::go_on;
}

/// `closed` first: nothing else need be decided then.
FailoverCall::Next FailoverCall::degrade(const Members& members) {
  bool closed = false;
  Members local;
  for (const std::size_t place : members) {
    const FailureMode mode = charges_[place].on_store_failure;
    closed = closed || mode == FailureMode::closed;
    if (mode == FailureMode::local) {
      local.push_back(place);
    } else {
      set(place, mode);
    }
  }
  if (closed) return Next::refuse;
  return local.empty() ? Next::go_on : decide_locally(local);
}

FailoverCall::Next FailoverCall::decide_locally(const Members& members) {
  std::vector<const GuardedCharge*> asked;
  for (const std::size_t place : members) asked.push_back(&charges_[place]);
  auto answer = take_ ? owner_.local_.consume(std::move(asked)) : owner_.local_.peek(std::move(asked));
  if (!answer && answer.error().code == ErrorCode::invalid_argument) {
    give_back();
    done_(std::unexpected(std::move(answer).error()));
    return Next::answered;
  }
  if (!answer) {  // a share that cannot be counted is no allow
    for (const std::size_t place : members) set(place, FailureMode::closed);
    return Next::refuse;
  }
  decision_.now = answer->decision.now;
  for (std::size_t i = 0; i < members.size(); ++i) {
    decision_.outcomes[members[i]] = answer->decision.outcomes[i];
    FailoverCounters::add(owner_.counters_.degraded_by(FailureMode::local));
  }
  if (answer->decision.verdict != Verdict::allow) return Next::refuse;
  local_.push_back(std::move(answer->taken));
  spent_.insert(spent_.end(), members.begin(), members.end());
  return Next::go_on;
}

/// Without numbers: open or closed.
void FailoverCall::set(std::size_t place, FailureMode mode) {
  decision_.outcomes[place] = {.verdict = mode == FailureMode::closed ? Verdict::deny : Verdict::allow,
                               .degraded = mode,
                               .has_numbers = false,
                               .retry_after = {}};
  FailoverCounters::add(owner_.counters_.degraded_by(mode));
}

void FailoverCall::refuse() {
  give_back();
  for (const std::size_t place : spent_) decision_.outcomes[place].has_numbers = false;
  finish();
}

void FailoverCall::give_back() {
  for (const LocalCounters::Taken& taken : local_) owner_.local_.give_back(taken);
  for (std::size_t index = 0; index < groups_.size(); ++index)
    if (groups_[index].taken_at) refund(index);
}

/// Nobody waits for it. Not tried again: what is not given back stays spent.
void FailoverCall::refund(std::size_t index) {
  const Group& of = groups_[index];
  FailoverStore& owner = owner_;
  const auto permit = owner.breakers_.admit(of.shard);
  if (!permit) return FailoverCounters::add(owner.counters_.refunds_lost);
  if (request_id_.empty()) request_id_ = owner.next_request_id();
  Refund back{.charges = charges_of(of.members),
              .consumed_at = *of.taken_at,
              .request_id = request_id_ + "/" + std::to_string(index)};
  auto heard = [&owner, shard = of.shard, permit = *permit, sample = back.charges.front()](Result<bool> ok) {
    owner.breakers_.report(shard, permit, ok ? nullptr : &ok.error(), sample);
    if (!ok) FailoverCounters::add(owner.counters_.refunds_lost);
  };
  owner.store_.refund(std::move(back), owner.guard_.wrap(std::move(heard)));
}

void FailoverCall::finish() {
  if (store_now_) decision_.now = *store_now_;
  core::judge(decision_);
  done_(std::move(decision_));
}

Charges FailoverCall::charges_of(const Members& members) const {
  Charges charges;
  charges.reserve(members.size());
  for (const std::size_t place : members) charges.push_back(charges_[place].charge);
  return charges;
}

}  // namespace dripgate::store
