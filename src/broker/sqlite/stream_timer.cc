// StreamTimer: entries in and out, and when to look. What a look reads: stream_timer_look.cc.
#include "broker/sqlite/stream_timer.h"

#include <algorithm>
#include <utility>

#include "broker/attributes_codec.h"

namespace dripgate::broker::sqlite {
namespace {

constexpr const char* kInsert =
    "INSERT INTO timers(seq, stream, due, id, message_id, published, attributes, body) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(stream, id) DO NOTHING";
constexpr const char* kDelete = "DELETE FROM timers WHERE seq=?1";
constexpr const char* kCount = "SELECT COUNT(*) FROM timers WHERE stream=?1";
constexpr const char* kFirst = "SELECT due FROM timers WHERE stream=?1 ORDER BY due LIMIT 1";
constexpr const char* kLast = "SELECT due FROM timers WHERE stream=?1 ORDER BY due DESC LIMIT 1";

}  // namespace

StreamTimer::StreamTimer(ContextPtr context, const std::string& stream)
    : context_(std::move(context)), scope_(context_->scopes.scope(db::ScopeKind::timer, stream)) {
  context_->database.join(this);
}

StreamTimer::~StreamTimer() {
  context_->database.leave(this);
}

void StreamTimer::start(Handler handler) {
  handler_ = std::make_shared<Handler>(std::move(handler));
  post_look();
}

void StreamTimer::resume() {
  paused_ = false;
  post_look();
}

void StreamTimer::forget() {
  cursor_ = {};
  next_known_ = false;
  pending_.reset();
  post_look();
}

void StreamTimer::schedule(TimerEntry entry, Done<void> done) {
  done(store(entry));
}

Result<void> StreamTimer::store(const TimerEntry& entry) {
  if (Result<void> begun = context_->database.begin_write(); !begun) return begun;
  if (Result<void> known = context_->scopes.ensure(scope_); !known) return known;
  const Position at{to_us(entry.due), Scopes::next_sequence(scope_)};
  const Message& message = entry.message;
  encode_attributes(message.attributes, attributes_);
  db::Statement& insert = context_->database.statement(kInsert);
  insert.bind(at.sequence, scope_.number, at.due, entry.id, message.id, to_us(message.published),
              db::Blob{attributes_}, db::Blob{message.body});
  if (Result<void> inserted = insert.run(); !inserted) return inserted;
  if (insert.changed_rows() == 0) return {};  // persisted already
  context_->scopes.taken(scope_);
  if (pending_) ++*pending_;
  if (at < cursor_) cursor_ = {at.due, at.sequence - 1};
  if (next_known_ && (!next_due_ || at.due < *next_due_)) {
    next_due_ = at.due;
    post_look();
  }
  return {};
}

void StreamTimer::settle(std::uint64_t token, Done<void> done) {
  const auto sequence = static_cast<std::int64_t>(token);
  Result<void> deleted = context_->database.begin_write();
  if (deleted) {
    db::Statement& statement = context_->database.statement(kDelete).bind(sequence);
    deleted = statement.run();
    if (deleted && pending_ && statement.changed_rows() > 0) --*pending_;
  }
  if (deleted) {
    leases_.settle(sequence);
    made_room();
  }
  done(std::move(deleted));
}

void StreamTimer::lapse(std::uint64_t token) {
  const auto sequence = static_cast<std::int64_t>(token);
  const std::optional<Duration> delay = leases_.lapse(sequence);
  if (!delay) return;
  context_->executor.post_after(*delay, guard_.wrap([this, sequence] {
    leases_.ready(sequence);
    post_look();
  }));
  made_room();
}

void StreamTimer::stats(Done<TimerStats> done) {
  done(count());
}

Result<TimerStats> StreamTimer::count() {
  TimerStats stats;
  if (Result<void> begun = context_->database.begin_read(); !begun) return std::unexpected(begun.error());
  const Result<bool> known = context_->scopes.find(scope_);
  if (!known) return std::unexpected(known.error());
  if (!*known) return stats;
  const auto one = [this](const char* sql) -> Result<std::optional<std::int64_t>> {
    db::Statement& statement = context_->database.statement(sql).bind(scope_.number);
    const Result<bool> row = statement.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    const std::int64_t value = statement.integer(0);
    statement.reset();
    return value;
  };
  if (!pending_) {
    const auto rows = one(kCount);
    if (!rows) return std::unexpected(rows.error());
    pending_ = static_cast<std::uint64_t>(rows->value_or(0));
  }
  const auto first = one(kFirst);
  if (!first) return std::unexpected(first.error());
  const auto last = one(kLast);
  if (!last) return std::unexpected(last.error());
  stats.pending = *pending_;
  if (*first) stats.oldest_due = from_us(**first);
  if (*last) stats.latest_due = from_us(**last);
  return stats;
}

}  // namespace dripgate::broker::sqlite
