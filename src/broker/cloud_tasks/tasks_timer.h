// TasksTimer: the timer of one stream on Cloud Tasks. Entries become tasks under their own names, so that
// writing one again is writing it once; what is due comes by `receive`, as the dispatcher's route hands it
// on. With claims, a body that is too large for a task lies there before the task is created. On the
// executor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/guard.h"
#include "broker/claims.h"
#include "broker/cloud_tasks/claim_ticket.h"
#include "broker/cloud_tasks/lane.h"
#include "broker/cloud_tasks/task.h"
#include "broker/pushed_timer.h"

namespace dripgate::broker::cloud_tasks {

/// Fired entries whose bytes of the claims are in memory at once; more wait for their turn ...
inline constexpr std::size_t kClaimsInHandMax = 16;
/// ... and beyond these Cloud Tasks keeps them.
inline constexpr std::size_t kClaimsWaitingMax = 1'024;

class TasksTimer final : public PushedTimer {
 public:
  using Answer = std::move_only_function<void(Receipt)>;

  /// Everything referred to outlives the timer. Without `claims` a body that is too large is refused.
  TasksTimer(Options options, TasksApi& api, Executor& executor, Clock& clock,
             std::unique_ptr<Claims> claims = nullptr);

  void schedule(TimerEntry entry, Done<void> done) override;
  void start(Handler handler) override;
  void settle(std::uint64_t token, Done<void> done) override;
  /// This task comes again by the queue's own retries; while paused all of the queue slows down.
  void lapse(std::uint64_t token) override;
  void pause() override { paused_ = true; }
  void resume() override { paused_ = false; }
  /// Cloud Tasks does not tell what it holds: `pending` counts what waits in this process to be created. The
  /// error of a queue that cannot be reached.
  void stats(Done<TimerStats> done) override;
  void receive(TimerEntry entry, Answer answer) override;

 private:
  struct Look;
  /// A firing in the drip's hands.
  struct Out {
    Answer answer;
    std::string claim;  // id; empty: it came with its body
  };
  /// A firing that waits for its bytes.
  struct Claimant {
    TimerEntry entry;
    ClaimTicket ticket;
    Answer answer;
  };

  [[nodiscard]] bool fits(const TimerEntry& entry) const;
  /// One whose claim is in the drip's hands: this is where it goes next.
  [[nodiscard]] ClaimOf claim_of(std::string_view entry_id) const;
  void schedule_by_claim(TimerEntry entry, std::size_t lane, Done<void> done);
  void add_claimed(Task task, std::size_t lane, std::string claim, Done<void> done);
  void redeem(Claimant claimant);
  void redeemed(Claimant claimant, Result<FoundClaim> found);
  void hand_on(TimerEntry entry, Out out);
  /// The bytes of one claim are out of memory.
  void make_room();

  const Options options_;
  Clock& clock_;
  std::deque<Lane> lanes_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this timer while it runs
  std::unordered_map<std::uint64_t, Out> out_;
  std::uint64_t last_token_ = 0;
  std::unique_ptr<Claims> claims_;
  std::deque<Claimant> claimants_;
  std::size_t claims_in_hand_ = 0;
  bool paused_ = false;
  Guard guard_;
};

}  // namespace dripgate::broker::cloud_tasks
