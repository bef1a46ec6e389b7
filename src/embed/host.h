// Host: one store inside a user's process: its backends, its one thread and its clock. Behind v1::Store; a
// Limiter and a Scheduler live on one. Three kinds: memory (asked within the call), file and Redis (asked on
// the thread of the store).
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>

#include "config/config.h"
#include "dripgate/store.h"
#include "runtime/loop.h"
#include "runtime/real_clock.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/failover/local_counters.h"
#include "store/vendor_store.h"

namespace dripgate::v1 {

class Store::Impl {
 public:
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Runs `task` with the stores, one task at a time: within the call (memory) or later. From any thread.
  virtual void enter(Task task) = 0;
  /// The same, and waits until it ran. From any thread, the store's own too.
  virtual void run(Task task) = 0;
  /// A call that waits would wait for the thread that it is on.
  [[nodiscard]] virtual bool waits_for_itself() const { return here(); }

  // Inside enter() or run():
  [[nodiscard]] virtual store::CounterStore& counters() = 0;
  [[nodiscard]] virtual store::BookingStore& bookings() = 0;
  [[nodiscard]] virtual store::VendorStore& vendors() = 0;
  /// Of what lives with the stores: its tasks are as those of enter().
  [[nodiscard]] virtual Executor& executor() = 0;
  [[nodiscard]] virtual std::size_t shard(std::string_view) const { return 0; }
  /// What only a Scheduler needs.
  [[nodiscard]] virtual dripgate::Result<void> open_bookings() { return {}; }

  [[nodiscard]] store::LocalCounters& local() { return local_; }
  [[nodiscard]] store::VendorStore& local_vendors() { return *local_vendors_; }
  [[nodiscard]] Clock& steady() { return steady_; }  // wall time that does not step
  [[nodiscard]] runtime::Loop& loop() { return loop_; }

 protected:
  Impl();
  void start(Task end_turn);
  [[nodiscard]] bool here() const { return thread_.load() == std::this_thread::get_id(); }

  runtime::RealClock clock_;
  runtime::ScaledClock steady_{clock_.now(), 1};
  store::LocalCounters local_{steady_};
  std::unique_ptr<store::VendorStore> local_vendors_;
  runtime::Loop loop_;

 private:
  friend std::shared_ptr<Impl> shared(std::unique_ptr<Impl> host);
  /// What is told to others before the thread ends.
  virtual void leave() {}
  void stop();

  std::atomic<std::thread::id> thread_{};
};

/// Ends the host's thread with the last copy, on whatever thread that goes.
[[nodiscard]] std::shared_ptr<Store::Impl> shared(std::unique_ptr<Store::Impl> host);

}  // namespace dripgate::v1

namespace dripgate::embed {

using Host = v1::Store::Impl;
using HostPtr = std::shared_ptr<Host>;

/// The store that a config names. Errors: those of v1::Store.
[[nodiscard]] Result<HostPtr> open_host(const config::Store& store);

[[nodiscard]] Result<HostPtr> open_memory_host();
[[nodiscard]] Result<HostPtr> open_file_host(const config::SqliteStore& store);
[[nodiscard]] Result<HostPtr> open_redis_host(const config::RedisStore& store);

}  // namespace dripgate::embed
