// Timer of one stream in the embedded file. Looks are posted tasks: each hands out lapsed entries that are
// due again, then reads due entries on from the cursor (due, sequence). Between looks it sleeps until the
// next entry is due, at most kTimerLookInterval, so that a clock that jumps is noticed. On the database's
// executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/leases.h"
#include "broker/sqlite/context.h"
#include "broker/timer.h"

namespace dripgate::broker::sqlite {

/// Longest sleep while entries wait: how late an entry can be after the clock jumped ahead.
inline constexpr Duration kTimerLookInterval = 1s;
/// Entries that one look reads; the next look is another task. At most kFiringsOutstandingMax are out at
/// once.
inline constexpr std::size_t kTimerReadBatch = 32;

class StreamTimer final : public Timer, public db::Participant {
 public:
  StreamTimer(ContextPtr context, const std::string& stream);
  ~StreamTimer() override;
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  void schedule(TimerEntry entry, Done<void> done) override;
  void start(Handler handler) override;
  void settle(std::uint64_t token, Done<void> done) override;
  void lapse(std::uint64_t token) override;
  void pause() override { paused_ = true; }
  void resume() override;
  void stats(Done<TimerStats> done) override;

  Result<void> flush() override { return {}; }
  void forget() override;

 private:
  struct Position {
    std::int64_t due = to_us(kLongAgo);
    std::int64_t sequence = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  struct Row {
    std::int64_t sequence = 0;
    TimerEntry entry;
  };

  Result<void> store(const TimerEntry& entry);
  Result<TimerStats> count();
  void post_look();
  void look();
  Result<void> read(std::vector<Row>& rows);
  Result<void> read_lapsed(std::vector<Row>& rows);
  Result<void> read_due(std::vector<Row>& rows);
  Result<std::size_t> take_rows(db::Statement& row, std::vector<Row>& rows);
  Result<void> find_next_due();
  bool hand_out(std::vector<Row> rows);
  void unclaim(std::int64_t sequence);
  void made_room();
  bool claim(std::int64_t sequence, TimerEntry entry, std::vector<Row>& rows);
  void arm();
  [[nodiscard]] bool is_firing() const { return handler_ != nullptr && !paused_; }
  [[nodiscard]] bool has_room() const {
    return leases_.claimed() < kFiringsOutstandingMax && leases_.lapsed() < kLapsedMax;
  }

  ContextPtr context_;
  Scope& scope_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this timer while it runs
  Leases leases_;
  Position cursor_;                       // entries up to here are claimed, lapsed or gone
  std::optional<std::int64_t> next_due_;  // of the first entry behind the cursor, while known
  bool next_known_ = false;               // next_due_ is what the file says (empty: nothing waits)
  std::optional<std::uint64_t> pending_;  // rows of the stream, while known
  bool paused_ = false;
  bool look_posted_ = false;
  bool held_ = false;                      // the disk is full: no more in this turn
  std::optional<std::int64_t> armed_for_;  // the due time for which a look is posted ahead
  std::uint64_t arm_number_ = 0;
  std::string attributes_;  // reused
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::sqlite
