// Timer of one stream on Redis: per partition a sorted set of due times and a hash of payloads. Firing leases
// an entry by moving its due time to the lease's end, so any number of processes may fire, each entry goes to
// one at a time, and what a dead one had fires again. Redis' clock decides. A look sleeps until the next
// entry is due, at most kTimerLookInterval, since other processes schedule too. On the client's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/guard.h"
#include "broker/leases.h"
#include "broker/redis_streams/script_queue.h"
#include "broker/timer.h"

namespace dripgate::broker::redis_streams {

/// What a process that died had fired fires again after this ...
inline constexpr Duration kFiringLease = 60s;
/// ... a living one renews its leases so often, until Options::handling_deadline.
inline constexpr Duration kFiringKeepInterval = 20s;
/// Longest sleep: how late an entry of another process, or after a jump of the clock, can be.
inline constexpr Duration kTimerLookInterval = 100ms;
/// Entries that one look takes. At most kFiringsOutstandingMax are out at once.
inline constexpr std::size_t kFireBatch = 64;

class StreamTimer final : public Timer {
 public:
  StreamTimer(ContextPtr context, const std::string& stream);
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  void schedule(TimerEntry entry, Done<void> done) override;
  void start(Handler handler) override;
  void settle(std::uint64_t token, Done<void> done) override;
  void lapse(std::uint64_t token) override;
  void pause() override { paused_ = true; }
  void resume() override;
  /// A fired entry counts as pending, at the end of its lease.
  void stats(Done<TimerStats> done) override;

 private:
  struct Shelf {  // one partition
    Shelf(const ContextPtr& context, std::string due, std::string payload);
    std::string due_key;
    std::string payload_key;
    ScriptQueue schedules;
    ScriptQueue settles;
    std::int64_t redis_now = 0;             // us, as of the last reply
    std::size_t asked = 0;                  // entries of the look on its way
    bool hungry = true;                     // worth a look as soon as there is room
    std::optional<std::int64_t> armed_for;  // us on Redis' clock, for which a look is posted ahead
    std::uint64_t arm_number = 0;
  };
  struct Firing {
    std::size_t shelf = 0;
    std::string id;
    std::string lease_end;
    int rounds = 0;  // renewals
  };
  struct Count;

  void post_look();
  void look();
  void fire(std::size_t index);
  void fired(std::size_t index, Result<redis::Reply> reply);
  bool hand_out(std::size_t index, const redis::Reply& reply);
  void sleep(std::size_t index, std::int64_t until);
  void keep_round();
  void keep(std::size_t index, std::vector<std::uint64_t> tokens);
  void kept(const std::vector<std::uint64_t>& tokens, const Result<redis::Reply>& reply);
  void defer(Firing firing, Duration delay);
  [[nodiscard]] Duration next_delay(const std::string& id);
  [[nodiscard]] bool is_firing() const { return handler_ != nullptr && !paused_; }

  ContextPtr context_;
  redis::Script fire_script_;
  redis::Script defer_script_;
  redis::Script keep_script_;
  redis::Script stats_script_;
  std::deque<Shelf> shelves_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this timer while it runs
  std::unordered_map<std::uint64_t, Firing> out_;
  std::unordered_map<std::string, int> lapses_;  // by entry id; at most kLapsedMax
  std::uint64_t last_token_ = 0;
  std::size_t asked_ = 0;
  bool paused_ = false;
  bool look_posted_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
