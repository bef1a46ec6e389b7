// What one reservation costs behind a backlog of 10^6 on its key, against one behind 10^3: at most 1.1x, in
// memory and on SQLite. CPU time of the thread, commits included: what the disk does meanwhile is not a cost
// of the booking. All judged stores remember equally many event ids: that of 10^3 has released a million
// before, as a store in use has. Reported, not judged: a store that has just been made (its few ids fit the
// processor's caches), and random ids on SQLite (the ids themselves, not the backlog, spread over the file's
// pages; ids of a source ascend).
#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

#include "compare.h"
#include "sqlite/database.h"
#include "store/memory/stores.h"
#include "store/sqlite/stores.h"

namespace dripgate::bench {
namespace {

constexpr int kSmall = 1'000;
constexpr int kLarge = 1'000'000;
constexpr int kPerMinute = 100;
constexpr int kMeasured = 20'000;  // reservations per repeat
constexpr int kPerTurn = 256;      // share a commit on SQLite
constexpr int kPerTurnBuilding = 8192;
constexpr double kRatioMax = 1.1;

class BenchClock : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  WallTime now_{std::chrono::seconds{1'800'000'000}};
};

core::BookingPolicyPtr policy() {
  core::BookingPolicy made;
  made.limits = {{.algorithm = core::Algorithm::fixed_window,
                  .limit = kPerMinute,
                  .window = std::chrono::minutes{1},
                  .capacity = kPerMinute,
                  .zone = nullptr}};
  made.max_delay = made.id_retention = std::chrono::hours{24 * 30};
  return std::make_shared<core::BookingPolicy>(made);
}

/// The odd multiplier visits every 32-bit number once, in no order.
std::string id_of(std::uint32_t number, bool ascending) {
  char text[16];
  std::snprintf(text, sizeof(text), ascending ? "pay_%010u" : "pay_%08x",
                ascending ? number : number * 2654435761u);
  return text;
}

struct Plan {
  int released = 0;  // before, at the pace of the limit
  int booked = 0;
  bool ascending = true;
};

/// One store with a backlog on one key.
class Backlog {
 public:
  Backlog(std::unique_ptr<sqlite::Database> database, Plan plan)
      : database_(std::move(database)),
        store_(database_ ? store::make_sqlite_booking_store(*database_, clock_)
                         : store::make_memory_booking_store(clock_)),
        ascending_(plan.ascending) {
    for (int i = 0; i < plan.released; ++i) {
      if (i % kPerMinute == 0) clock_.advance(std::chrono::minutes{1});
      reserve_next(kPerTurnBuilding);
    }
    for (int i = 0; i < plan.booked; ++i) reserve_next(kPerTurnBuilding);
    end_turn();
    first_measured_ = next_;
  }

  std::uint64_t book(int count) {
    for (int i = 0; i < count; ++i) reserve_next(kPerTurn);
    end_turn();
    return static_cast<std::uint64_t>(count);
  }
  /// The backlog as it was before the last measured repeat.
  void give_back() {
    for (std::uint32_t event = next_; event-- > first_measured_;) {
      store_->release("payouts:merchant_8421:payout", id_of(event, ascending_), 0, policy_, [](auto) {});
      if (event % kPerTurn == 0) end_turn();
    }
    end_turn();
    first_measured_ = next_;
  }

 private:
  void reserve_next(std::uint32_t per_turn) {
    store_->reserve({.key = "payouts:merchant_8421:payout",
                     .event_id = id_of(next_++, ascending_),
                     .body_digest = 1,
                     .cost = 1,
                     .first_received = {},
                     .after_generation = {},
                     .policy = policy_},
                    [](auto answer) {
                      if (!answer || answer->outcome == core::ReserveOutcome::beyond_horizon) std::abort();
                    });
    if (next_ % per_turn == 0) end_turn();
  }
  void end_turn() {
    if (database_ && !database_->end_turn()) std::abort();
  }

  BenchClock clock_;
  core::BookingPolicyPtr policy_ = policy();
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<store::BookingStore> store_;
  bool ascending_;
  std::uint32_t next_ = 0;
  std::uint32_t first_measured_ = 0;
};

class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::unique_ptr<sqlite::Database> open(const std::string& name) const {
    auto opened = sqlite::Database::open((path_ / name).string());
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.error().detail.c_str());
      std::exit(2);
    }
    return *std::move(opened);
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("dripgate-bench-booking-" + std::to_string(::getpid()));
};

void add(Comparison& table, const std::string& name, std::unique_ptr<sqlite::Database> database, Plan plan) {
  const auto backlog = std::make_shared<Backlog>(std::move(database), plan);
  table.add(name, [backlog] { return backlog->book(kMeasured); }, [backlog] { backlog->give_back(); });
}

int run(int argc, char** argv) {
  Comparison table("booking", argc, argv, Timer::thread_cpu);
  const Folder folder;
  const Plan small{.released = kLarge, .booked = kSmall};
  const Plan large{.released = kSmall, .booked = kLarge};
  add(table, "memory, 10^3 booked", nullptr, small);
  add(table, "memory, 10^6 booked", nullptr, large);
  add(table, "memory, 10^3 booked, just made", nullptr, {.booked = kSmall});
  add(table, "sqlite, 10^3 booked", folder.open("small"), small);
  add(table, "sqlite, 10^6 booked", folder.open("large"), large);
  add(table, "sqlite, 10^3 booked, just made", folder.open("made"), {.booked = kSmall});
  add(table, "sqlite, 10^6 booked, random ids", folder.open("random"),
      {.booked = kLarge, .ascending = false});
  table.run();
  table.expect_ratio("memory, 10^6 booked", "memory, 10^3 booked", kRatioMax);
  table.expect_ratio("sqlite, 10^6 booked", "sqlite, 10^3 booked", kRatioMax);
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
