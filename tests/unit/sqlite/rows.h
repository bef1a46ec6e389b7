// The rows that the tests of this room write: opaque states under keys.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "sqlite/database.h"

namespace dripgate::sqlite::testing {

inline constexpr const char* kPut =
    "INSERT INTO counters(key, state, expires) VALUES(?1, ?2, 0) ON CONFLICT(key) DO UPDATE SET state=?2";

inline Result<void> put(Database& database, std::string_view key, std::string_view state) {
  if (Result<void> begun = database.begin_write(); !begun) return begun;
  return database.statement(kPut).bind(key, Blob{state}).run();
}

inline Result<void> erase(Database& database, std::string_view key) {
  if (Result<void> begun = database.begin_write(); !begun) return begun;
  return database.statement("DELETE FROM counters WHERE key=?1").bind(key).run();
}

inline std::string get(Database& database, std::string_view key) {
  Statement& statement = database.statement("SELECT state FROM counters WHERE key=?1").bind(key);
  const Result<bool> row = statement.step();
  if (!row) return "error: " + row.error().detail;
  std::string state = *row ? std::string(statement.bytes(0)) : "none";
  statement.reset();
  return state;
}

inline std::unique_ptr<Database> open(const std::string& path, Options options = {}) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, std::move(options));
  EXPECT_TRUE(opened) << opened.error().detail;
  return opened ? std::move(*opened) : nullptr;
}

inline Error open_error(const std::string& path, Options options = {}) {
  const Result<std::unique_ptr<Database>> opened = Database::open(path, std::move(options));
  EXPECT_FALSE(opened) << path << " opened";
  return opened ? Error{} : opened.error();
}

}  // namespace dripgate::sqlite::testing
