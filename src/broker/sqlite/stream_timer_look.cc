// StreamTimer: one look at the file, and the sleep until the next.
#include <algorithm>
#include <limits>
#include <utility>

#include "broker/sqlite/rows.h"
#include "broker/sqlite/stream_timer.h"
#include "broker/sqlite/topic_source.h"

namespace dripgate::broker::sqlite {
namespace {

#define DRIPGATE_ENTRY_COLUMNS "seq, due, id, message_id, published, attributes, body"

// Two searches instead of one over (due, seq): SQLite would walk through all entries with the same due time.
constexpr const char* kReadSameDue =
    "SELECT " DRIPGATE_ENTRY_COLUMNS
    " FROM timers WHERE stream=?1 AND due=?2 AND seq>?3 ORDER BY seq LIMIT ?4";
constexpr const char* kReadLaterDue = "SELECT " DRIPGATE_ENTRY_COLUMNS
                                      " FROM timers WHERE stream=?1 AND due>?2 AND due<=?3 "
                                      "ORDER BY due, seq LIMIT ?4";
constexpr const char* kReadOne = "SELECT " DRIPGATE_ENTRY_COLUMNS " FROM timers WHERE seq=?1";
constexpr const char* kNextDue = "SELECT due FROM timers WHERE stream=?1 AND due>?2 ORDER BY due LIMIT 1";

#undef DRIPGATE_ENTRY_COLUMNS

constexpr std::int64_t kLastSequence = std::numeric_limits<std::int64_t>::max();

TimerEntry read_entry(const db::Statement& row) {
  TimerEntry entry;
  entry.due = from_us(row.integer(1));
  entry.id = row.bytes(2);
  entry.message = read_message(row, 3);
  return entry;
}

}  // namespace

void StreamTimer::post_look() {
  if (look_posted_ || !is_firing()) return;
  look_posted_ = true;
  context_->executor.post(guard_.wrap([this] { look(); }));
}

void StreamTimer::made_room() {
  if (!next_known_ || leases_.has_ready()) post_look();
}

void StreamTimer::look() {
  look_posted_ = false;
  if (!is_firing()) return;
  std::vector<Row> rows;
  const bool failed = !read(rows);
  if (!hand_out(std::move(rows)) || !is_firing()) return;
  if (failed) {  // the turn reports it; here it is only tried again
    context_->executor.post_after(kLookRetryDelay, guard_.wrap([this] { post_look(); }));
  } else if (has_room() && (!next_known_ || leases_.has_ready())) {
    post_look();
  } else if (next_known_) {
    arm();
  }
}

Result<void> StreamTimer::read(std::vector<Row>& rows) {
  if (Result<void> begun = context_->database.begin_read(); !begun) return begun;
  if (Result<void> done = read_lapsed(rows); !done) return done;
  if (rows.size() >= kTimerReadBatch || !has_room()) return {};
  if (next_known_ && (!next_due_ || *next_due_ > to_us(context_->clock.now()))) return {};
  return read_due(rows);
}

Result<void> StreamTimer::read_lapsed(std::vector<Row>& rows) {
  while (!held_ && leases_.claimed() < kFiringsOutstandingMax && rows.size() < kTimerReadBatch) {
    const auto sequence = leases_.take_ready();
    if (!sequence) return {};
    db::Statement& row = context_->database.statement(kReadOne).bind(*sequence);
    const Result<bool> there = row.step();
    if (!there) {
      leases_.put_back_ready(*sequence);
      return std::unexpected(there.error());
    }
    if (!*there) {
      leases_.settle(*sequence);
    } else if (!claim(*sequence, read_entry(row), rows)) {
      leases_.put_back_ready(*sequence);
    }
    row.reset();
  }
  return {};
}

Result<void> StreamTimer::read_due(std::vector<Row>& rows) {
  next_known_ = false;
  const Result<bool> known = context_->scopes.find(scope_);
  if (!known) return std::unexpected(known.error());
  if (!*known) {
    next_due_.reset();
    next_known_ = true;
    return {};
  }
  const std::int64_t now = to_us(context_->clock.now());
  const std::size_t limit =
      std::min(kTimerReadBatch - rows.size(), kFiringsOutstandingMax - leases_.claimed());
  const Result<std::size_t> same = take_rows(
      context_->database.statement(kReadSameDue).bind(scope_.number, cursor_.due, cursor_.sequence, limit),
      rows);
  if (!same) return std::unexpected(same.error());
  if (held_ || *same == limit) return {};
  const std::size_t left = limit - *same;
  const Result<std::size_t> later = take_rows(
      context_->database.statement(kReadLaterDue).bind(scope_.number, cursor_.due, now, left), rows);
  if (!later) return std::unexpected(later.error());
  return held_ || *later == left ? Result<void>{} : find_next_due();
}

// False: not in this turn.
bool StreamTimer::claim(std::int64_t sequence, TimerEntry entry, std::vector<Row>& rows) {
  if (!context_->budget.take(bytes_of(entry.message))) {
    held_ = true;
    context_->budget.wait(guard_.wrap([this] {
      held_ = false;
      post_look();
    }));
    return false;
  }
  leases_.claim(sequence, 0);
  rows.push_back(Row{sequence, std::move(entry)});
  return true;
}

// Claims what is not out already; answers how many rows there were.
Result<std::size_t> StreamTimer::take_rows(db::Statement& row, std::vector<Row>& rows) {
  std::size_t count = 0;
  for (;; ++count) {
    const Result<bool> there = row.step();
    if (!there) return std::unexpected(there.error());
    if (!*there) return count;
    const Position at{row.integer(1), row.integer(0)};
    if (!leases_.contains(at.sequence) && !claim(at.sequence, read_entry(row), rows)) break;
    cursor_ = at;
  }
  row.reset();
  return count;
}

Result<void> StreamTimer::find_next_due() {
  cursor_.sequence = kLastSequence;  // all of that due time are read
  db::Statement& row = context_->database.statement(kNextDue).bind(scope_.number, cursor_.due);
  const Result<bool> there = row.step();
  if (!there) return std::unexpected(there.error());
  next_due_.reset();
  if (*there) next_due_ = row.integer(0);
  next_known_ = true;
  row.reset();
  return {};
}

// Never handed out after all: the next look finds it again from the start.
void StreamTimer::unclaim(std::int64_t sequence) {
  leases_.settle(sequence);
  cursor_ = {};
  next_known_ = false;
}

// False: the handler has ended this timer.
bool StreamTimer::hand_out(std::vector<Row> rows) {
  const std::weak_ptr<char> alive = alive_;
  const std::shared_ptr<Handler> handler = handler_;
  for (Row& row : rows) {
    if (paused_) {
      unclaim(row.sequence);
      continue;
    }
    (*handler)(FiredEntry{std::move(row.entry), static_cast<std::uint64_t>(row.sequence)});
    if (alive.expired()) return false;
  }
  return true;
}

// One look is posted ahead, for the earliest due time asked for; an earlier one replaces it.
void StreamTimer::arm() {
  if (!next_due_ || (armed_for_ && *armed_for_ <= *next_due_)) return;
  armed_for_ = next_due_;
  const Duration until_due = from_us(*next_due_) - context_->clock.now();
  const Duration delay = std::clamp(until_due, Duration{0}, kTimerLookInterval);
  context_->executor.post_after(delay, guard_.wrap([this, number = ++arm_number_] {
    if (number != arm_number_) return;
    armed_for_.reset();
    post_look();
  }));
}

}  // namespace dripgate::broker::sqlite
