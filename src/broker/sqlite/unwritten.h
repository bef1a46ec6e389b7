// Unwritten: messages published in this turn that are not in the file yet. Most are read and acked within
// their own turn (one commit for event and verdict) and so never cost a row; what is left at the end of the
// turn is written before its commit. On the database's executor; one per Broker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>

#include "broker/message.h"
#include "sqlite/database.h"

namespace dripgate::broker::sqlite {

namespace db = dripgate::sqlite;

/// With more than this kept back, everything is written at once.
inline constexpr std::size_t kUnwrittenBytesMax = 8u << 20;

class Unwritten final : public db::Participant {
 public:
  explicit Unwritten(db::Database& database);
  ~Unwritten() override;
  Unwritten(const Unwritten&) = delete;
  Unwritten& operator=(const Unwritten&) = delete;

  /// True: this topic has a message with this id, here or in the file.
  Result<bool> has(std::int64_t topic, const std::string& id);
  /// Keeps it back, or writes it at once while the disk is full: then it can use the pages of what the next
  /// call deletes, and the turn needs no more of them than one message. `message.published` is set.
  Result<void> add(std::int64_t topic, std::int64_t sequence, Message message);
  /// True: it was here and is gone, unwritten.
  bool erase(std::int64_t sequence);

  struct Kept {
    std::int64_t topic = 0;
    Message message;
  };
  [[nodiscard]] const std::map<std::int64_t, Kept>& by_sequence() const { return kept_; }

  Result<void> flush() override;
  void forget() override;

 private:
  Result<void> write(std::int64_t sequence, const Kept& kept);

  db::Database& database_;
  std::map<std::int64_t, Kept> kept_;
  std::unordered_set<std::string> names_;  // "<topic>/<id>"
  std::size_t bytes_ = 0;
  std::string attributes_;  // reused
};

}  // namespace dripgate::broker::sqlite
