// TopicSource.
#include "broker/sqlite/topic_source.h"

#include <algorithm>
#include <utility>

#include "broker/sqlite/rows.h"

namespace dripgate::broker::sqlite {
namespace {

constexpr const char* kReadOn =
    "SELECT seq, id, published, attributes, body FROM messages WHERE seq>?1 AND seq<?2 ORDER BY seq LIMIT ?3";
constexpr const char* kReadOne = "SELECT seq, id, published, attributes, body FROM messages WHERE seq=?1";
constexpr const char* kDelete = "DELETE FROM messages WHERE seq=?1";

}  // namespace

TopicSource::TopicSource(ContextPtr context, const std::string& topic)
    : context_(std::move(context)),
      scope_(context_->scopes.scope(db::ScopeKind::topic, topic)),
      listeners_(context_->wakeups.of(topic)) {
  context_->database.join(this);
  listeners_->push_back(this);
}

TopicSource::~TopicSource() {
  std::erase(*listeners_, this);
  context_->database.leave(this);
}

void TopicSource::start(FlowControl flow, Handler handler) {
  flow_ = flow;
  handler_ = std::make_shared<Handler>(std::move(handler));
  wake();
}

void TopicSource::resume() {
  paused_ = false;
  wake();
}

void TopicSource::wake() {
  caught_up_ = false;
  if (!blocked_) post_look();
}

void TopicSource::post_look() {
  if (look_posted_ || !is_pulling()) return;
  look_posted_ = true;
  context_->executor.post(guard_.wrap([this] { look(); }));
}

void TopicSource::forget() {
  cursor_ = 0;
  wake();
}

bool TopicSource::has_room(std::size_t bytes) const {
  if (leases_.claimed() == 0) return true;  // one message larger than the bound still passes
  return leases_.claimed() < flow_.max_outstanding_messages &&
         leases_.claimed_bytes() + bytes <= flow_.max_outstanding_bytes;
}

void TopicSource::made_room() {
  blocked_ = held_;
  if (!blocked_ && (!caught_up_ || leases_.has_ready())) post_look();
}

void TopicSource::hold() {
  blocked_ = true;
  if (std::exchange(held_, true)) return;
  context_->budget.wait(guard_.wrap([this] {
    held_ = false;
    made_room();
  }));
}

void TopicSource::look() {
  look_posted_ = false;
  if (!is_pulling()) return;
  std::vector<Row> rows;
  if (!read(rows)) {  // the turn reports it; here it is only tried again
    caught_up_ = true;
    context_->executor.post_after(kLookRetryDelay, guard_.wrap([this] { wake(); }));
  }
  if (!hand_out(std::move(rows))) return;
  if (!blocked_ && (!caught_up_ || leases_.has_ready())) post_look();
}

Result<void> TopicSource::read(std::vector<Row>& rows) {
  if (Result<void> begun = context_->database.begin_read(); !begun) return begun;
  if (Result<void> done = read_lapsed(rows); !done) return done;
  if (blocked_ || caught_up_ || rows.size() >= kSourceReadBatch) return {};
  blocked_ = !has_room(0) || leases_.lapsed() >= kLapsedMax;
  return blocked_ ? Result<void>{} : read_on(rows);
}

Result<void> TopicSource::read_lapsed(std::vector<Row>& rows) {
  while (!blocked_ && rows.size() < kSourceReadBatch) {
    const auto sequence = leases_.take_ready();
    if (!sequence) return {};
    const auto& unwritten = context_->unwritten.by_sequence();
    if (const auto kept = unwritten.find(*sequence); kept != unwritten.end()) {
      if (!claim(*sequence, kept->second.message, rows)) leases_.put_back_ready(*sequence);
      continue;
    }
    db::Statement& row = context_->database.statement(kReadOne).bind(*sequence);
    const Result<bool> there = row.step();
    if (!there) {
      leases_.put_back_ready(*sequence);
      return std::unexpected(there.error());
    }
    if (!*there) {
      leases_.settle(*sequence);
    } else if (!claim(*sequence, read_message(row, 1), rows)) {
      leases_.put_back_ready(*sequence);
    }
    row.reset();
  }
  return {};
}

Result<void> TopicSource::read_on(std::vector<Row>& rows) {
  const Result<bool> known = context_->scopes.find(scope_);
  if (!known) return std::unexpected(known.error());
  caught_up_ = !*known;
  if (caught_up_) return {};
  cursor_ = std::max(cursor_, scope_.first());
  const std::size_t room =
      std::max(flow_.max_outstanding_messages, leases_.claimed() + 1) - leases_.claimed();
  const std::size_t limit = std::min(kSourceReadBatch - rows.size(), room);
  db::Statement& row = context_->database.statement(kReadOn).bind(cursor_, scope_.end(), limit);
  for (std::size_t count = 0;; ++count) {
    const Result<bool> there = row.step();
    if (!there) return std::unexpected(there.error());
    if (!*there) {
      if (count < limit) read_unwritten(rows, limit - count);
      return {};
    }
    const std::int64_t sequence = row.integer(0);
    if (!leases_.contains(sequence) && !claim(sequence, read_message(row, 1), rows)) break;
    cursor_ = sequence;
  }
  row.reset();
  return {};
}

// Published in this turn: behind everything in the file.
void TopicSource::read_unwritten(std::vector<Row>& rows, std::size_t limit) {
  const auto& unwritten = context_->unwritten.by_sequence();
  for (auto kept = unwritten.upper_bound(cursor_); limit > 0; ++kept, --limit) {
    caught_up_ = kept == unwritten.end() || kept->first >= scope_.end();
    if (caught_up_) return;
    if (!leases_.contains(kept->first) && !claim(kept->first, kept->second.message, rows)) return;
    cursor_ = kept->first;
  }
}

// False: no room for it.
bool TopicSource::claim(std::int64_t sequence, Message message, std::vector<Row>& rows) {
  const std::size_t bytes = bytes_of(message);
  blocked_ = !has_room(bytes);
  if (!blocked_ && !context_->budget.take(bytes)) hold();
  if (blocked_) return false;
  leases_.claim(sequence, bytes);
  rows.push_back(Row{sequence, std::move(message)});
  return true;
}

// Never handed out after all: the next look finds it again from the start.
void TopicSource::unclaim(std::int64_t sequence) {
  leases_.settle(sequence);
  cursor_ = 0;
  caught_up_ = false;
  blocked_ = false;
}

// False: the handler has ended this source.
bool TopicSource::hand_out(std::vector<Row> rows) {
  const std::weak_ptr<char> alive = alive_;
  const std::shared_ptr<Handler> handler = handler_;
  for (Row& row : rows) {
    if (paused_) {
      unclaim(row.sequence);
      continue;
    }
    (*handler)(Delivery{std::move(row.message), static_cast<std::uint64_t>(row.sequence),
                        leases_.lapses(row.sequence)});
    if (alive.expired()) return false;
  }
  return true;
}

void TopicSource::ack(std::uint64_t token, Done<void> done) {
  const auto sequence = static_cast<std::int64_t>(token);
  Result<void> deleted = context_->database.begin_write();
  if (deleted && !context_->unwritten.erase(sequence)) {
    deleted = context_->database.statement(kDelete).bind(sequence).run();
  }
  if (deleted) {
    leases_.settle(sequence);
    made_room();
  }
  done(std::move(deleted));
}

void TopicSource::lapse(std::uint64_t token) {
  const auto sequence = static_cast<std::int64_t>(token);
  const std::optional<Duration> delay = leases_.lapse(sequence);
  if (!delay) return;
  context_->executor.post_after(*delay, guard_.wrap([this, sequence] {
    leases_.ready(sequence);
    if (!blocked_) post_look();
  }));
  made_room();
}

}  // namespace dripgate::broker::sqlite
