// Database: one connection to one file and the turn that groups its writes into one commit.
//
// A turn is a run of tasks on one executor. The first write of a turn opens its transaction; end_turn() lets
// every participant flush what it kept back, commits (WAL, synchronous=EXTRA: durable), then runs the
// after_commit callbacks. Ports on this file answer inside the turn, so event, booking and timer share a
// commit; whatever leaves the process (an HTTP reply, a delivery) is started by after_commit. A failed commit
// makes every answer of the turn void: callbacks get the error, participants forget, and the owner of the
// pipeline rebuilds it from the file, as after a crash (app/pipeline). Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "sqlite/statement.h"

struct sqlite3;

namespace dripgate::sqlite {

/// Keeps state in memory over a turn (or longer) and writes it once.
class Participant {
 public:
  virtual ~Participant() = default;
  /// Before the commit: write what was kept back, inside the transaction.
  virtual Result<void> flush() = 0;
  /// The file holds something else than this memory: after a rollback, or when another connection has
  /// committed.
  virtual void forget() = 0;
};

/// How long a turn waits for another connection to end its own.
inline constexpr Duration kBusyWait = 5s;
/// Kept inside the file for deletes and releases when the disk is full (sqlite/space.h).
inline constexpr std::int64_t kBallastBytes = 512 << 10;
/// Rounds of one end_turn() over writes made by its own callbacks; more wait for the next end_turn().
inline constexpr int kCommitRoundsMax = 4;

struct Options {
  std::string vfs = {};          // empty: the system's; tests name their own
  bool exclusive_owner = false;  // take the file for this process; a second owner gets ErrorCode::locked
  std::int64_t max_bytes = 0;    // 0: no bound; over it writes fail with ErrorCode::full
  std::int64_t ballast_bytes = kBallastBytes;  // 0: none; see sqlite/space.h
  Duration busy_wait = kBusyWait;  // how long to wait for another connection's turn, then ErrorCode::locked
};

class Database {
 public:
  /// ":memory:" is a private database. Creates the file and its schema; migrates older versions. Errors:
  /// locked, corrupt, newer_version, full, io: each says what to do, and nothing in the file is changed.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Options options = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Opens the turn's transaction unless it is open. Call before the first write of every operation.
  Result<void> begin_write();
  /// Before reading state that a participant caches: makes it forget when another connection has committed
  /// since.
  Result<void> begin_read();
  /// Runs once the answers of this turn are durable; at the end of a turn without writes, at once.
  void after_commit(Done<void> done);
  /// Commits. The error, if any, was given to the callbacks too.
  Result<void> end_turn();

  /// True from the first full disk until there is room again: take nothing new in, let what is there out.
  /// Asking also makes the end of the turn look whether there is room.
  [[nodiscard]] bool low_on_space();

  void join(Participant* participant);
  void leave(Participant* participant);

  /// A cached prepared statement; valid until this Database ends. A schema mistake is a programming error and
  /// aborts.
  Statement& statement(const char* sql);
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Impl;
  explicit Database(std::string path);
  std::string path_;
  sqlite3* handle_ = nullptr;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::sqlite
