// Lane: see lane.h.
#include "broker/cloud_tasks/lane.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"

namespace dripgate::broker::cloud_tasks {
namespace {

/// Between half of it and the whole, by the name of the task: processes that were refused together do not
/// come back together.
Duration with_jitter(Duration span, const Task& task, WallTime now) {
  const std::uint64_t dice = digest64(task.id + std::to_string(to_us(now)));
  return span / 2 +
         Duration{static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(span.count() / 2 + 1))};
}

}  // namespace

void Lane::add(Task task, Done<void> done) {
  if (waiting_.size() >= kWaitingMax) {
    return done(
        fail(ErrorCode::full, "Cloud Tasks, " + queue_ + ": too many tasks wait to be created", true));
  }
  waiting_.push_back({std::move(task), std::move(done), clock_.now()});
  pump();
}

void Lane::pump() {
  while (!waiting_.empty() && in_flight_ < window_ && clock_.now() >= rests_until_) {
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    send(std::move(call));
  }
}

void Lane::send(Call call) {
  ++in_flight_;
  // The call keeps its task: the api only looks at it.
  auto kept = std::make_shared<Call>(std::move(call));
  api_.create(kept->task, guard_.wrap([this, kept](const CallStatus& status) {
    --in_flight_;
    answered(std::move(*kept), status);
  }));
}

void Lane::answered(Call call, const CallStatus& status) {
  const Outcome outcome = outcome_of(status, proven_);
  if (outcome == Outcome::exhausted) {
    trouble_ = status;
    rest(call);
    waiting_.push_front(std::move(call));
    return drop_impatient(clock_.now(), status);
  }
  // Freed room first: `done` may add another task.
  if (outcome == Outcome::persisted) {
    proven_ = true;
    trouble_.reset();
    rest_ = kRestMin;
    window_ = std::min(window_ + 1, kWindowMax);
    call.done({});
  } else {
    if (outcome != Outcome::refused) trouble_ = status;
    call.done(std::unexpected(error_of(outcome, status, queue_)));
  }
  pump();
}

void Lane::rest(const Call& call) {
  const WallTime now = clock_.now();
  // The calls that were on their way together are refused together: one rest for all of them.
  if (now < rests_until_) return;
  const Duration wait = with_jitter(rest_, call.task, now);
  rests_until_ = now + wait;
  rest_ = std::min(rest_ * 2, kRestMax);
  window_ = std::max<std::size_t>(1, window_ / 2);
  wake_after(wait);
}

void Lane::wake_after(Duration wait) {
  executor_.post_after(wait, guard_.wrap([this] { pump(); }));
}

void Lane::drop_impatient(WallTime now, const CallStatus& status) {
  std::deque<Call> given_back;
  std::erase_if(waiting_, [&](Call& call) {
    if (now - call.since < kQuotaPatience) return false;
    given_back.push_back(std::move(call));
    return true;
  });
  for (Call& call : given_back) call.done(std::unexpected(error_of(Outcome::exhausted, status, queue_)));
}

void Lane::probe(Done<void> done) {
  if (!trouble_) return done({});
  api_.look(queue_, guard_.wrap([this, done = std::move(done)](const CallStatus& status) mutable {
    // Without the right to look at queues, only a task can tell.
    const bool there = status.code == kOk || status.code == kPermissionDenied;
    if (there) return done({});
    done(std::unexpected(error_of(outcome_of(status, proven_), status, queue_)));
  }));
}

}  // namespace dripgate::broker::cloud_tasks
