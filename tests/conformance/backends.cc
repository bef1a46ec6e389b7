#include "conformance/backends.h"

#include <filesystem>

#include <unistd.h>

#include "conformance/redis_backend.h"
#include "sqlite/database.h"
#include "store/memory/stores.h"
#include "store/sqlite/stores.h"

namespace dripgate::testing {
namespace {

class MemoryStores : public StoreUnderTest {
 public:
  explicit MemoryStores(Clock& clock) : clock_(clock) { empty(); }
  store::BookingStore& bookings() override { return *bookings_; }
  store::CounterStore& counters() override { return *counters_; }
  store::VendorStore& vendors() override { return *vendors_; }
  void empty() override {
    bookings_ = store::make_memory_booking_store(clock_);
    counters_ = store::make_memory_counter_store(clock_);
    vendors_ = store::make_memory_vendor_store(clock_);
  }

 private:
  Clock& clock_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<store::CounterStore> counters_;
  std::unique_ptr<store::VendorStore> vendors_;
};

/// A file in memory if the machine has such a folder: a commit costs no disk.
class ScratchFile {
 public:
  ScratchFile() {
    static int made = 0;
    const std::filesystem::path shared = "/dev/shm";
    const auto folder =
        std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path();
    path_ = folder / ("dripgate-conformance-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
    remove();
  }
  ~ScratchFile() { remove(); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  void remove() const {
    for (const char* part : {"", "-wal", "-shm", "-journal", ".lock"})
      std::filesystem::remove(path_.string() + part);
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Connection {
  explicit Connection(const std::string& path, Clock& clock) {
    auto opened = sqlite::Database::open(path);
    if (!opened) throw std::runtime_error(opened.error().detail);
    database = *std::move(opened);
    bookings = store::make_sqlite_booking_store(*database, clock);
    counters = store::make_sqlite_counter_store(*database, clock);
    vendors = store::make_sqlite_vendor_store(*database, clock);
  }
  std::unique_ptr<sqlite::Database> database;
  std::unique_ptr<store::BookingStore> bookings;
  std::unique_ptr<store::CounterStore> counters;
  std::unique_ptr<store::VendorStore> vendors;
};

enum class Disturbance {
  none,         // one connection, a commit per call
  long_turns,   // one connection, a commit every few calls
  unfiled,      // one connection to a database without a file, a commit every few calls
  alternating,  // two connections on one file take turns
  reopened,     // killed and opened again after every call
};

class SqliteStores : public StoreUnderTest {
 public:
  SqliteStores(Clock& clock, Disturbance disturbance) : clock_(clock), disturbance_(disturbance) { open(); }
  store::BookingStore& bookings() override { return *active().bookings; }
  store::CounterStore& counters() override { return *active().counters; }
  store::VendorStore& vendors() override { return *active().vendors; }

  void settle() override {
    Connection& used = active();
    ++calls_;
    const bool long_turns = disturbance_ == Disturbance::long_turns || disturbance_ == Disturbance::unfiled;
    if (long_turns && calls_ % kCallsPerTurn != 0) return;
    const auto ended = used.database->end_turn();
    EXPECT_TRUE(ended) << ended.error().detail;
    if (disturbance_ == Disturbance::reopened) open();
  }
  void empty() override {
    connections_.clear();
    file_.remove();
    open();
  }

 private:
  static constexpr std::size_t kCallsPerTurn = 5;

  void open() {
    connections_.clear();
    const int count = disturbance_ == Disturbance::alternating ? 2 : 1;
    for (int i = 0; i < count; ++i)
      connections_.push_back(std::make_unique<Connection>(file_.path(), clock_));
  }
  Connection& active() { return *connections_[calls_ % connections_.size()]; }

  Clock& clock_;
  Disturbance disturbance_;
  ScratchFile file_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t calls_ = 0;
};

Backend sqlite_backend(std::string name, Disturbance disturbance) {
  return {std::move(name),
          [disturbance](Clock& clock) { return std::make_unique<SqliteStores>(clock, disturbance); }};
}

Backend memory_backend() {
  return {"Memory", [](Clock& clock) { return std::make_unique<MemoryStores>(clock); }};
}

}  // namespace

std::vector<Backend> all_backends() {
  return {
      memory_backend(),
      sqlite_backend("Sqlite", Disturbance::none),
      sqlite_backend("SqliteLongTurns", Disturbance::long_turns),
      sqlite_backend("SqliteTwoConnections", Disturbance::alternating),
      sqlite_backend("SqliteReopenedEachCall", Disturbance::reopened),
      redis_backend(),
  };
}

std::vector<Backend> quick_backends() {
  return {memory_backend(), sqlite_backend("SqliteUnfiled", Disturbance::unfiled),
          sqlite_backend("SqliteTwoConnections", Disturbance::alternating), redis_backend()};
}

}  // namespace dripgate::testing
