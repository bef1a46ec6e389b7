// The tables of the embedded file, their version, and the way from an older version to this one. The only
// place with DDL. Used by Database::open.
//
// Rows are addressed by "<scope number> * 2^40 + position" (kScopeShift), so that one B-tree keeps the rows
// of a topic, a timer or a dead-letter list together and in order. Positions are never used twice.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

struct sqlite3;

namespace dripgate::sqlite {

/// PRAGMA application_id of our files: "Drip".
inline constexpr std::int32_t kApplicationId = 0x44726970;
/// PRAGMA user_version written by this build.
inline constexpr int kSchemaVersion = 1;

/// sequence = scope number << kScopeShift | position.
inline constexpr int kScopeShift = 40;

/// scopes.kind: which table the numbers of a scope count.
enum class ScopeKind : std::uint8_t { topic = 1, timer = 2, dead_letters = 3 };

/// One step: takes a file of version `from` to `from` + 1.
struct Migration {
  int from;
  const char* sql;
};

/// Creates the tables in an empty file, in one transaction.
[[nodiscard]] Result<void> create_schema(sqlite3* handle);
/// Takes a file of an older version to `target`, in one transaction: all steps or none. A version without a
/// way is an error.
[[nodiscard]] Result<void> migrate(sqlite3* handle, int version, int target,
                                   std::span<const Migration> steps);
/// The steps this build knows.
[[nodiscard]] std::span<const Migration> migrations();
/// Every table and index is there, word for word: a damaged schema is found here, not by a statement.
[[nodiscard]] Result<void> verify_schema(sqlite3* handle);

/// One PRAGMA or query that answers one integer.
[[nodiscard]] Result<std::int64_t> query_integer(sqlite3* handle, const char* sql);
/// Runs statements that answer nothing (several, separated by semicolons).
[[nodiscard]] Result<void> execute(sqlite3* handle, const char* sql);

}  // namespace dripgate::sqlite
