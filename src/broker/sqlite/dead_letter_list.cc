// DeadLetterList.
#include "broker/sqlite/dead_letter_list.h"

#include <algorithm>
#include <utility>

#include "broker/attributes_codec.h"
#include "broker/sqlite/rows.h"

namespace dripgate::broker::sqlite {
namespace {

#define DRIPGATE_LETTER_COLUMNS                                                                     \
  "seq, event_id, generation, key, reason, detail, first_received, dead_at, attempts, message_id, " \
  "published, "                                                                                     \
  "attributes, body"

constexpr const char* kInsert =
    "INSERT INTO dead_letters(" DRIPGATE_LETTER_COLUMNS
    ", topic) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 WHERE NOT EXISTS("
    "SELECT 1 FROM dead_letters WHERE topic=?14 AND event_id=?2 AND generation=?3 AND body=?13)";
constexpr const char* kPage =
    "SELECT " DRIPGATE_LETTER_COLUMNS " FROM dead_letters WHERE seq>?1 AND seq<?2 ORDER BY seq LIMIT ?3";
constexpr const char* kOne = "SELECT " DRIPGATE_LETTER_COLUMNS " FROM dead_letters WHERE seq=?1";
constexpr const char* kCount = "SELECT COUNT(*) FROM dead_letters WHERE topic=?1";
constexpr const char* kRemove = "DELETE FROM dead_letters WHERE seq=?1";
constexpr const char* kPurge =
    "DELETE FROM dead_letters WHERE seq IN (SELECT seq FROM dead_letters WHERE topic=?1 AND dead_at<?2 "
    "ORDER BY dead_at LIMIT ?3)";

#undef DRIPGATE_LETTER_COLUMNS

constexpr std::uint64_t kPositionMax = (std::uint64_t{1} << db::kScopeShift) - 1;

DeadLetter read_letter(const db::Statement& row) {
  DeadLetter letter;
  letter.sequence = static_cast<std::uint64_t>(row.integer(0)) & kPositionMax;
  letter.event_id = row.bytes(1);
  letter.generation = static_cast<std::uint32_t>(row.integer(2));
  letter.key = row.bytes(3);
  letter.reason = row.bytes(4);
  letter.detail = row.bytes(5);
  letter.first_received = from_us(row.integer(6));
  letter.dead_at = from_us(row.integer(7));
  letter.attempts = static_cast<int>(row.integer(8));
  letter.message = read_message(row, 9);
  return letter;
}

}  // namespace

DeadLetterList::DeadLetterList(ContextPtr context, const std::string& topic)
    : context_(std::move(context)), scope_(context_->scopes.scope(db::ScopeKind::dead_letters, topic)) {
  context_->database.join(this);
}

DeadLetterList::~DeadLetterList() {
  context_->database.leave(this);
}

// A position that no letter can have finds nothing.
std::int64_t DeadLetterList::row_of(std::uint64_t sequence) const {
  return scope_.first() | static_cast<std::int64_t>(std::min(sequence, kPositionMax));
}

Result<bool> DeadLetterList::begin_write() {
  if (Result<void> begun = context_->database.begin_write(); !begun) return std::unexpected(begun.error());
  return context_->scopes.find(scope_);
}

Result<bool> DeadLetterList::begin_read() {
  if (Result<void> begun = context_->database.begin_read(); !begun) return std::unexpected(begun.error());
  return context_->scopes.find(scope_);
}

void DeadLetterList::add(DeadLetter letter, Done<void> done) {
  done(store(letter));
}

Result<void> DeadLetterList::store(const DeadLetter& letter) {
  if (Result<void> begun = context_->database.begin_write(); !begun) return begun;
  if (Result<void> known = context_->scopes.ensure(scope_); !known) return known;
  const Message& message = letter.message;
  encode_attributes(message.attributes, attributes_);
  db::Statement& insert = context_->database.statement(kInsert);
  insert.bind(Scopes::next_sequence(scope_), letter.event_id, letter.generation, letter.key, letter.reason,
              letter.detail, to_us(letter.first_received), to_us(letter.dead_at), letter.attempts, message.id,
              to_us(message.published), db::Blob{attributes_}, db::Blob{message.body}, scope_.number);
  if (Result<void> inserted = insert.run(); !inserted) return inserted;
  if (insert.changed_rows() == 0) return {};  // the same letter
  context_->scopes.taken(scope_);
  if (total_) ++*total_;
  return {};
}

void DeadLetterList::list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) {
  done(page(after, count));
}

Result<DeadLetterPage> DeadLetterList::page(std::uint64_t after, std::size_t count) {
  DeadLetterPage page;
  const Result<bool> known = begin_read();
  if (!known) return std::unexpected(known.error());
  if (!*known) return page;
  const Result<std::uint64_t> all = total();
  if (!all) return std::unexpected(all.error());
  page.total = *all;
  db::Statement& row = context_->database.statement(kPage);
  row.bind(row_of(after), scope_.end(), std::min(count, kDeadLetterPageMax));
  for (std::size_t bytes = 0; bytes < kDeadLetterPageBytesMax;) {
    const Result<bool> there = row.step();
    if (!there) return std::unexpected(there.error());
    if (!*there) return page;
    page.letters.push_back(read_letter(row));
    bytes += bytes_of(page.letters.back().message);
  }
  row.reset();
  return page;
}

Result<std::uint64_t> DeadLetterList::total() {
  if (total_) return *total_;
  db::Statement& row = context_->database.statement(kCount).bind(scope_.number);
  const Result<bool> there = row.step();
  if (!there) return std::unexpected(there.error());
  total_ = static_cast<std::uint64_t>(row.integer(0));
  row.reset();
  return *total_;
}

void DeadLetterList::find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) {
  done(one(sequence));
}

Result<std::optional<DeadLetter>> DeadLetterList::one(std::uint64_t sequence) {
  const Result<bool> known = begin_read();
  if (!known) return std::unexpected(known.error());
  if (!*known) return std::nullopt;
  db::Statement& row = context_->database.statement(kOne).bind(row_of(sequence));
  const Result<bool> there = row.step();
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::nullopt;
  std::optional<DeadLetter> letter = read_letter(row);
  row.reset();
  return letter;
}

Result<std::uint64_t> DeadLetterList::erase(db::Statement& statement) {
  if (Result<void> deleted = statement.run(); !deleted) return std::unexpected(deleted.error());
  const auto count = static_cast<std::uint64_t>(statement.changed_rows());
  if (total_) *total_ -= std::min(*total_, count);
  return count;
}

void DeadLetterList::remove(std::uint64_t sequence, Done<bool> done) {
  const Result<bool> known = begin_write();
  if (!known || !*known) return done(known);
  const Result<std::uint64_t> gone = erase(context_->database.statement(kRemove).bind(row_of(sequence)));
  if (!gone) return done(std::unexpected(gone.error()));
  done(*gone > 0);
}

void DeadLetterList::purge(WallTime before, Done<std::uint64_t> done) {
  const Result<bool> known = begin_write();
  if (!known) return done(std::unexpected(known.error()));
  if (!*known) return done(std::uint64_t{0});
  done(erase(context_->database.statement(kPurge).bind(scope_.number, to_us(before), kPurgeBatch)));
}

}  // namespace dripgate::broker::sqlite
