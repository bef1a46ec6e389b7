// RedisWatch: does every primary answer? Asked all the time, so that a process which has nothing to do
// notices too. The loss of Redis and its return are logged once each; when it answers, at the start and
// again, its settings are checked: what is weaker than its use needs becomes a warning in the log and in
// /readyz, and so does the loss itself. On the client's loop; single-threaded.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/health.h"
#include "base/guard.h"
#include "obs/log.h"
#include "redis/client.h"

namespace dripgate::app {

/// From one answer to the next question.
inline constexpr Duration kRedisWatchEvery = std::chrono::seconds{1};

/// What the process keeps in Redis: counters may be lost with a second of writes, events may not.
enum class RedisHolds { counters, events };

class RedisWatch {
 public:
  /// Everything outlives this. `clock`: of this host; `executor`: real time.
  RedisWatch(redis::Client& client, RedisHolds holds, Executor& executor, const Clock& clock, Health& health,
             obs::Log& log)
      : client_(client), holds_(holds), executor_(executor), clock_(clock), health_(health), log_(log) {}

  void start() { ask(); }

 private:
  void ask();
  void heard(const std::vector<redis::NodeReply>& replies);
  void lost(const redis::NodeReply& node, bool of_many);
  void all_answer();
  void check();
  void warn(std::vector<std::string> warnings);

  redis::Client& client_;
  const RedisHolds holds_;
  Executor& executor_;
  const Clock& clock_;
  Health& health_;
  obs::Log& log_;
  bool checked_ = false;  // since it answers
  std::optional<WallTime> away_since_;
  std::set<std::string> away_;  // nodes that were logged since then
  std::vector<std::string> away_warnings_;
  std::vector<std::string> warnings_;  // of the last check
  Guard guard_;                        // last
};

}  // namespace dripgate::app
