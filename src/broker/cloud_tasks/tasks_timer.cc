// TasksTimer: see tasks_timer.h.
#include "broker/cloud_tasks/tasks_timer.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace dripgate::broker::cloud_tasks {
namespace {

/// Entries of one event begin alike (drip/names.h).
constexpr std::size_t kEventDigits = 32;

}  // namespace

TasksTimer::TasksTimer(Options options, TasksApi& api, Executor& executor, Clock& clock,
                       std::unique_ptr<Claims> claims)
    : options_(std::move(options)), clock_(clock), claims_(std::move(claims)) {
  for (std::size_t i = 0; i < options_.queues.size(); ++i)
    lanes_.emplace_back(queue_name(options_, i), api, executor, clock);
}

void TasksTimer::schedule(TimerEntry entry, Done<void> done) {
  const std::size_t index = queue_of(entry.id, lanes_.size());
  if (claims_ != nullptr && options_.claim_check && !fits(entry))
    return schedule_by_claim(std::move(entry), index, std::move(done));
  auto task = make_task(options_, std::move(entry), clock_.now());
  if (!task) return done(std::unexpected(std::move(task).error()));
  lanes_[index].add(*std::move(task), std::move(done));
}

bool TasksTimer::fits(const TimerEntry& entry) const {
  const std::size_t body = entry.message.body.size();
  if (body > options_.task_bytes_max) return false;
  // With the most that headers may be it still fits: no need to weigh them.
  if (body + 2 * kTaskHeaderBytesMax <= options_.task_bytes_max) return true;
  return make_task(options_, entry, clock_.now()).has_value();
}

ClaimOf TasksTimer::claim_of(std::string_view entry_id) const {
  const std::string_view event = entry_id.substr(0, kEventDigits);
  const bool moved = claims_in_hand_ > 0 && std::ranges::any_of(out_, [event](const auto& out) {
                       return std::string_view(out.second.claim).starts_with(event);
                     });
  return moved ? ClaimOf::moved_event : ClaimOf::new_event;
}

void TasksTimer::schedule_by_claim(TimerEntry entry, std::size_t lane, Done<void> done) {
  const ClaimOf of = claim_of(entry.id);
  Claimed claimed = check_in(entry);
  auto task = make_task(options_, std::move(entry), clock_.now());
  if (!task) return done(std::unexpected(std::move(task).error()));  // by its headers
  std::string id = claimed.ticket.id;
  claims_->put(std::move(id), std::move(claimed.bytes), of,
               guard_.wrap([this, task = *std::move(task), lane, claim = std::move(claimed.ticket.id),
                            done = std::move(done)](Result<void> kept) mutable {
                 if (!kept) return done(std::move(kept));
                 add_claimed(std::move(task), lane, std::move(claim), std::move(done));
               }));
}

void TasksTimer::add_claimed(Task task, std::size_t lane, std::string claim, Done<void> done) {
  lanes_[lane].add(std::move(task), guard_.wrap([this, claim = std::move(claim),
                                                 done = std::move(done)](Result<void> answer) mutable {
    // Only what the service will never have: an unknown outcome may be a task that refers to it.
    if (!answer && answer.error().code == ErrorCode::invalid_argument) claims_->let_go(claim);
    done(std::move(answer));
  }));
}

void TasksTimer::start(Handler handler) {
  handler_ = std::make_shared<Handler>(std::move(handler));
}

void TasksTimer::receive(TimerEntry entry, Answer answer) {
  // Before its bytes are fetched: the store that has them may be why.
  if (handler_ == nullptr || paused_) return answer(Receipt::stop);
  auto ticket = take_ticket(entry);
  if (!ticket) return hand_on(std::move(entry), {.answer = std::move(answer), .claim = {}});
  if (claims_ == nullptr) {
    mark_lost(entry, "the stream has no claims here");
    return hand_on(std::move(entry), {.answer = std::move(answer), .claim = {}});
  }
  Claimant claimant{std::move(entry), *std::move(ticket), std::move(answer)};
  if (claims_in_hand_ < kClaimsInHandMax) return redeem(std::move(claimant));
  if (claimants_.size() >= kClaimsWaitingMax) return claimant.answer(Receipt::again);
  claimants_.push_back(std::move(claimant));
}

void TasksTimer::redeem(Claimant claimant) {
  ++claims_in_hand_;
  const std::string id = claimant.ticket.id;
  claims_->find(id, guard_.wrap([this, claimant = std::move(claimant)](Result<FoundClaim> found) mutable {
    redeemed(std::move(claimant), std::move(found));
  }));
}

void TasksTimer::redeemed(Claimant claimant, Result<FoundClaim> found) {
  if (!found) {
    claimant.answer(paused_ ? Receipt::stop : Receipt::again);
    return make_room();
  }
  if (found->over && !found->bytes) {  // whoever handled it was not heard
    claimant.answer(Receipt::handled);
    return make_room();
  }
  check_out(claimant.entry, claimant.ticket, std::move(found->bytes));
  hand_on(std::move(claimant.entry),
          {.answer = std::move(claimant.answer), .claim = std::move(claimant.ticket.id)});
}

void TasksTimer::make_room() {
  --claims_in_hand_;
  if (claimants_.empty()) return;
  Claimant next = std::move(claimants_.front());
  claimants_.pop_front();
  redeem(std::move(next));
}

void TasksTimer::hand_on(TimerEntry entry, Out out) {
  if (handler_ == nullptr || paused_) {
    out.answer(Receipt::stop);
    if (!out.claim.empty()) make_room();
    return;
  }
  const std::uint64_t token = ++last_token_;
  out_.emplace(token, std::move(out));
  const std::shared_ptr<Handler> handler = handler_;
  (*handler)(FiredEntry{std::move(entry), token});
}

void TasksTimer::settle(std::uint64_t token, Done<void> done) {
  auto out = out_.extract(token);
  if (!out.empty()) {
    const std::string claim = std::move(out.mapped().claim);
    out.mapped().answer(Receipt::handled);
    if (!claim.empty()) {
      claims_->let_go(claim);
      make_room();
    }
  }
  done({});
}

void TasksTimer::lapse(std::uint64_t token) {
  auto out = out_.extract(token);
  if (out.empty()) return;
  out.mapped().answer(paused_ ? Receipt::stop : Receipt::again);
  if (!out.mapped().claim.empty()) make_room();
}

/// One answer of all lanes.
struct TasksTimer::Look {
  std::size_t open = 0;
  TimerStats stats{};
  std::optional<Error> error{};
  Done<TimerStats> done;
};

void TasksTimer::stats(Done<TimerStats> done) {
  auto look = std::make_shared<Look>(lanes_.size(), TimerStats{}, std::nullopt, std::move(done));
  for (Lane& lane : lanes_) {
    look->stats.pending += lane.waiting();
    lane.probe(guard_.wrap([look](const Result<void>& answer) {
      if (!answer && !look->error) look->error = answer.error();
      if (--look->open > 0) return;
      look->error ? look->done(std::unexpected(*look->error)) : look->done(look->stats);
    }));
  }
}

}  // namespace dripgate::broker::cloud_tasks
