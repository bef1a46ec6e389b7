// The embedded drip (in-limit events, topic sink, synchronous=FULL) against the bare durable queue of the
// same file system: enqueue, reserve, ack, one commit each per batch. At least 0.4x its throughput with 32
// and with 256 events in flight.
#include <sqlite3.h>

#include "compare.h"
#include "embedded_line.h"

namespace dripgate::bench {
namespace {

constexpr std::uint64_t kEvents = 10'000;
constexpr std::uint64_t kKeys = 20;
constexpr std::uint64_t kBacklog =
    10'000;  // rows that wait in the bare queue meanwhile, as in a queue that is used

void must(sqlite3* db, const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(db, sql, nullptr, nullptr, &message) != SQLITE_OK) throw std::runtime_error(message);
}

/// A table with a state column: what a team would write by hand.
class BareQueue {
 public:
  explicit BareQueue(const std::string& path) {
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path + ending);
    sqlite3_open(path.c_str(), &db_);
    must(db_,
         "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
         "CREATE TABLE queue(seq INTEGER PRIMARY KEY, body BLOB, reserved INTEGER);"
         "CREATE INDEX queue_free ON queue(reserved, seq);");
    enqueue_ = prepare("INSERT INTO queue(body, reserved) VALUES(?, 0)");
    reserve_ = prepare(
        "UPDATE queue SET reserved=1 WHERE seq IN (SELECT seq FROM queue WHERE reserved=0 ORDER BY seq LIMIT "
        "?) RETURNING seq");
    ack_ = prepare("DELETE FROM queue WHERE seq=?");
    must(db_, "BEGIN IMMEDIATE");
    for (std::uint64_t i = 0; i < kBacklog; ++i) enqueue(i);
    must(db_, "COMMIT");
  }
  ~BareQueue() {
    for (sqlite3_stmt* statement : {enqueue_, reserve_, ack_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }

  void round(std::uint64_t first, std::uint64_t batch) {
    must(db_, "BEGIN IMMEDIATE");
    for (std::uint64_t i = 0; i < batch; ++i) enqueue(first + i);
    must(db_, "COMMIT; BEGIN IMMEDIATE");
    std::vector<std::int64_t> taken;
    sqlite3_bind_int64(reserve_, 1, static_cast<std::int64_t>(batch));
    while (sqlite3_step(reserve_) == SQLITE_ROW) taken.push_back(sqlite3_column_int64(reserve_, 0));
    sqlite3_reset(reserve_);
    must(db_, "COMMIT; BEGIN IMMEDIATE");
    for (const std::int64_t seq : taken) {
      sqlite3_bind_int64(ack_, 1, seq);
      sqlite3_step(ack_);
      sqlite3_reset(ack_);
    }
    must(db_, "COMMIT");
  }

 private:
  void enqueue(std::uint64_t number) {
    const std::string body = event_body(number, kKeys);
    sqlite3_bind_blob(enqueue_, 1, body.data(), static_cast<int>(body.size()), SQLITE_TRANSIENT);
    sqlite3_step(enqueue_);
    sqlite3_reset(enqueue_);
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
    return statement;
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* enqueue_ = nullptr;
  sqlite3_stmt* reserve_ = nullptr;
  sqlite3_stmt* ack_ = nullptr;
};

/// Keeps `window` events between their append and their committed decision.
std::uint64_t drip(EmbeddedLine& line, std::uint64_t& next, std::uint64_t window) {
  const std::uint64_t goal = line.decided().durable() + kEvents;
  std::uint64_t published = line.decided().durable();
  while (line.decided().durable() < goal) {
    for (; published < goal && published - line.decided().durable() < window; ++published) {
      line.publish(next, event_body(next, kKeys));
      ++next;
    }
    line.run_turn();
    line.end_turn();
  }
  return kEvents;
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  using namespace dripgate::bench;
  Comparison table("embedded_drip", argc, argv);
  std::vector<std::unique_ptr<BareQueue>> queues;
  std::vector<std::unique_ptr<EmbeddedLine>> lines;
  std::uint64_t next = 0;
  for (const std::uint64_t window : {32u, 256u}) {
    const std::string label = std::to_string(window);
    auto* queue = queues.emplace_back(std::make_unique<BareQueue>(bench_file("bare" + label))).get();
    auto* line =
        lines
            .emplace_back(std::make_unique<EmbeddedLine>(bench_file("drip" + label), "[ { rps: 10000000 } ]"))
            .get();
    table.add("bare queue, " + label + " in flight", [queue, window] {
      for (std::uint64_t first = 0; first < kEvents; first += window) queue->round(first, window);
      return kEvents;
    });
    table.add("drip, " + label + " in flight", [line, window, &next] { return drip(*line, next, window); });
  }
  table.run();
  for (const char* label : {"32", "256"}) {  // 0.4x the throughput = 2.5x the time
    table.expect_ratio(std::string("drip, ") + label + " in flight",
                       std::string("bare queue, ") + label + " in flight", 2.5);
  }
  return table.verdict();
}
