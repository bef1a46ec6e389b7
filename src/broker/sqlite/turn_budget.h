// TurnBudget: on a full disk, how many bytes of messages all sources and timers together hand out per turn.
// What they hand out is written once more on its way (a timer entry, an overflow message), and the turn has
// to fit into the log that is allocated ahead (sqlite/space.h). With room on the disk it never says no. On
// the database's executor; one per Broker.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/guard.h"
#include "sqlite/database.h"

namespace dripgate::broker::sqlite {

/// An eighth of the log's reserve: a turn writes more than the bodies.
inline constexpr std::size_t kFullDiskTurnBytes = 1u << 20;

class TurnBudget {
 public:
  explicit TurnBudget(dripgate::sqlite::Database& database) : database_(database) {}

  /// False: not in this turn; wait(). One message always passes.
  bool take(std::size_t bytes) {
    if (!database_.low_on_space()) return true;
    if (spent_ > 0 && spent_ + bytes > kFullDiskTurnBytes) return false;
    if (spent_ == 0) database_.after_commit(guard_.wrap([this](const Result<void>&) { next_turn(); }));
    spent_ += bytes + 1;
    return true;
  }
  /// Runs when the next turn begins.
  void wait(Task task) { waiting_.push_back(std::move(task)); }

 private:
  void next_turn() {
    spent_ = 0;
    for (Task& task : std::exchange(waiting_, {})) task();
  }

  dripgate::sqlite::Database& database_;
  std::size_t spent_ = 0;
  std::vector<Task> waiting_;
  Guard guard_;
};

}  // namespace dripgate::broker::sqlite
