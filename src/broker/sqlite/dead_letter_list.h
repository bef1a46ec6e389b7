// DeadLetters of one topic in the embedded file. Every call is bounded: a page, one row, or a batch of a
// purge. On the database's executor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broker/dead_letter.h"
#include "broker/sqlite/context.h"

namespace dripgate::broker::sqlite {

/// Letters of one page, whatever the caller asks for ...
inline constexpr std::size_t kDeadLetterPageMax = 1000;
/// ... and a page ends early once it holds this many bytes.
inline constexpr std::size_t kDeadLetterPageBytesMax = 16u << 20;
/// Letters that one purge call removes.
inline constexpr std::size_t kPurgeBatch = 256;

class DeadLetterList final : public DeadLetters, public db::Participant {
 public:
  DeadLetterList(ContextPtr context, const std::string& topic);
  ~DeadLetterList() override;
  DeadLetterList(const DeadLetterList&) = delete;
  DeadLetterList& operator=(const DeadLetterList&) = delete;

  void add(DeadLetter letter, Done<void> done) override;
  void list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) override;
  void find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) override;
  void remove(std::uint64_t sequence, Done<bool> done) override;
  void purge(WallTime before, Done<std::uint64_t> done) override;

  Result<void> flush() override { return {}; }
  void forget() override { total_.reset(); }

 private:
  Result<void> store(const DeadLetter& letter);
  Result<DeadLetterPage> page(std::uint64_t after, std::size_t count);
  Result<std::optional<DeadLetter>> one(std::uint64_t sequence);
  Result<std::uint64_t> erase(db::Statement& statement);
  /// False: nothing was ever added.
  Result<bool> begin_write();
  Result<bool> begin_read();
  Result<std::uint64_t> total();
  [[nodiscard]] std::int64_t row_of(std::uint64_t sequence) const;

  ContextPtr context_;
  Scope& scope_;
  std::optional<std::uint64_t> total_;  // while known
  std::string attributes_;              // reused
};

}  // namespace dripgate::broker::sqlite
