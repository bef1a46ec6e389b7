// Unwritten.
#include "broker/sqlite/unwritten.h"

#include <utility>

#include "broker/attributes_codec.h"
#include "broker/sqlite/rows.h"

namespace dripgate::broker::sqlite {
namespace {

constexpr const char* kInsert =
    "INSERT INTO messages(seq, topic, id, published, attributes, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kFind = "SELECT 1 FROM messages WHERE topic=?1 AND id=?2";

std::string name_of(std::int64_t topic, const std::string& id) {
  return std::to_string(topic) + "/" + id;
}

}  // namespace

Unwritten::Unwritten(db::Database& database) : database_(database) {
  database_.join(this);
}

Unwritten::~Unwritten() {
  database_.leave(this);
}

Result<bool> Unwritten::has(std::int64_t topic, const std::string& id) {
  if (names_.contains(name_of(topic, id))) return true;
  db::Statement& row = database_.statement(kFind).bind(topic, id);
  const Result<bool> there = row.step();
  row.reset();
  return there;
}

Result<void> Unwritten::add(std::int64_t topic, std::int64_t sequence, Message message) {
  Kept kept{topic, std::move(message)};
  if (database_.low_on_space()) return write(sequence, kept);
  bytes_ += bytes_of(kept.message);
  names_.insert(name_of(topic, kept.message.id));
  kept_.emplace_hint(kept_.end(), sequence, std::move(kept));
  return bytes_ > kUnwrittenBytesMax ? flush() : Result<void>{};
}

bool Unwritten::erase(std::int64_t sequence) {
  const auto found = kept_.find(sequence);
  if (found == kept_.end()) return false;
  bytes_ -= bytes_of(found->second.message);
  names_.erase(name_of(found->second.topic, found->second.message.id));
  kept_.erase(found);
  return true;
}

Result<void> Unwritten::flush() {
  for (const auto& [sequence, kept] : kept_) {
    if (Result<void> written = write(sequence, kept); !written) return written;
  }
  forget();
  return {};
}

void Unwritten::forget() {
  kept_.clear();
  names_.clear();
  bytes_ = 0;
}

Result<void> Unwritten::write(std::int64_t sequence, const Kept& kept) {
  const Message& message = kept.message;
  encode_attributes(message.attributes, attributes_);
  return database_.statement(kInsert)
      .bind(sequence, kept.topic, message.id, to_us(message.published), db::Blob{attributes_},
            db::Blob{message.body})
      .run();
}

}  // namespace dripgate::broker::sqlite
