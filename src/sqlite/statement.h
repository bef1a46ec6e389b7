// Statement: a prepared statement with typed binds and columns; SQLite's codes become Errors here and nowhere
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dripgate::sqlite {

/// The Error for a SQLite result code: full, corrupt, locked, io, ... with the file's name and SQLite's own
/// words.
[[nodiscard]] Error to_error(sqlite3* handle, int code);

/// Binds as a blob; a plain string_view binds as text. SQLite never finds one where the other is stored.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  /// `failure` is where the first error of a turn is kept (Database); may be null. A null `statement` fails
  /// every step with `code`.
  Statement(sqlite3* handle, sqlite3_stmt* statement, std::optional<Error>* failure = nullptr, int code = 0)
      : handle_(handle), statement_(statement), failure_(failure), code_(code) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds 1-based parameters left to right. Text and blobs are not copied: they must live until reset().
  template <class... Args>
  Statement& bind(const Args&... args) {
    reset();
    int index = 0;
    (bind_one(++index, args), ...);
    return *this;
  }
  /// Steps a statement that returns no rows, then resets it.
  Result<void> run();
  /// True: a row is there. False: the end; resets.
  Result<bool> step();
  void reset();
  /// Rows that the last run() inserted, changed or deleted.
  [[nodiscard]] std::int64_t changed_rows() const;

  /// What sqlite3_prepare answered.
  void adopt(std::pair<sqlite3_stmt*, int> prepared) { std::tie(statement_, code_) = prepared; }
  [[nodiscard]] bool is_prepared() const { return statement_ != nullptr; }

  [[nodiscard]] std::int64_t integer(int column) const;
  /// Valid until the next step or reset. Text and blob alike.
  [[nodiscard]] std::string_view bytes(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, std::uint32_t value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, std::uint64_t value) { bind_one(index, static_cast<std::int64_t>(value)); }
  void bind_one(int index, std::string_view value);
  void bind_one(int index, Blob value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }

  Error failed(int code);

  sqlite3* handle_;
  sqlite3_stmt* statement_;
  std::optional<Error>* failure_;
  int code_;
};

}  // namespace dripgate::sqlite
