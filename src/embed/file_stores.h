// FileStores: counters, bookings and vendor keys of one SQLite file, answered once their turn is committed. A
// failed commit makes its turn void and its calls hear the error; the file is then opened again after a
// bounded wait, and until it is there every call is `unavailable`. Single-threaded, on the loop.
#pragma once

#include <memory>
#include <string>

#include "runtime/loop.h"
#include "sqlite/database.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::embed {

/// Wait before the file is opened again: doubles from the first to the longest.
inline constexpr Duration kReopenWaitFirst = 100ms;
inline constexpr Duration kReopenWaitMax = 5s;

class FileStores {
 public:
  FileStores(std::string path, runtime::Loop& loop, Clock& clock)
      : path_(std::move(path)), loop_(loop), clock_(clock) {}

  /// Errors: locked, corrupt, newer_version, full, io.
  Result<void> open();
  /// Commits; after every turn of the loop.
  void end_turn();

  [[nodiscard]] store::CounterStore& counters() { return safe_counters_; }
  [[nodiscard]] store::BookingStore& bookings() { return safe_bookings_; }
  [[nodiscard]] store::VendorStore& vendors() { return safe_vendors_; }

 private:
  struct Counters final : store::CounterStore {
    explicit Counters(FileStores& of) : file(of) {}
    void consume(store::Charges charges, Done<core::Decision> done) override;
    void peek(store::Charges charges, Done<core::Decision> done) override;
    void refund(store::Refund refund, Done<bool> done) override;
    void reset(std::string key, Done<void> done) override;
    void inspect(store::Charge charge, Done<store::CounterView> done) override;
    FileStores& file;
  };
  struct Bookings final : store::BookingStore {
    explicit Bookings(FileStores& of) : file(of) {}
    void reserve(store::ReserveRequest request, Done<core::ReserveAnswer> done) override;
    void gate(store::GateRequest request, Done<core::GateAnswer> done) override;
    void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> done) override;
    void release(std::string key, std::string event_id, std::uint32_t generation,
                 core::BookingPolicyPtr policy, Done<void> done) override;
    void freeze(std::string key, WallTime until, Done<void> done) override;
    void thaw(std::string key, Done<void> done) override;
    void reset(std::string key, Done<void> done) override;
    void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) override;
    FileStores& file;
  };

  struct Vendors final : store::VendorStore {
    explicit Vendors(FileStores& of) : file(of) {}
    void acquire(store::VendorAcquire call, Done<core::VendorGrant> done) override;
    void observe(store::VendorObserve call, Done<core::VendorEffect> done) override;
    void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override;
    void reset(std::string key, Done<void> done) override;
    FileStores& file;
  };

  void reopen();
  /// False, and `done` has heard it: the file does not work right now.
  template <class T>
  bool works(Done<T>& done);
  template <class T>
  Done<T> durable(Done<T> done);

  const std::string path_;
  runtime::Loop& loop_;
  Clock& clock_;
  Counters safe_counters_{*this};
  Bookings safe_bookings_{*this};
  Vendors safe_vendors_{*this};
  std::unique_ptr<sqlite::Database> database_;  // null: it is opened again later
  std::unique_ptr<store::CounterStore> counters_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<store::VendorStore> vendors_;
  int failures_ = 0;  // in a row
};

}  // namespace dripgate::embed
