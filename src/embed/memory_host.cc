// A host in this process' memory: every question is answered within the call, on the caller's thread, under
// one lock. Callbacks of callers run after it (embed/answer.h).
#include <mutex>
#include <utility>

#include "embed/host.h"
#include "store/memory/stores.h"

namespace dripgate::embed {
namespace {

class MemoryHost final : public Host, private Executor {
 public:
  MemoryHost() {
    start([] {});
  }

  void enter(Task task) override {
    const std::scoped_lock lock(mutex_);
    task();
  }
  void run(Task task) override { enter(std::move(task)); }
  bool waits_for_itself() const override { return false; }
  store::CounterStore& counters() override { return *counters_; }
  store::BookingStore& bookings() override { return *bookings_; }
  store::VendorStore& vendors() override { return *vendors_; }
  Executor& executor() override { return *this; }

 private:
  Task locked(Task task) {
    return [this, task = std::move(task)]() mutable { enter(std::move(task)); };
  }
  void post(Task task) override { loop_.post(locked(std::move(task))); }
  void post_after(Duration delay, Task task) override { loop_.post_after(delay, locked(std::move(task))); }

  std::mutex mutex_;
  std::unique_ptr<store::CounterStore> counters_ = store::make_memory_counter_store(clock_);
  std::unique_ptr<store::BookingStore> bookings_ = store::make_memory_booking_store(clock_);
  std::unique_ptr<store::VendorStore> vendors_ = store::make_memory_vendor_store(clock_);
};

}  // namespace

Result<HostPtr> open_memory_host() {
  return v1::shared(std::make_unique<MemoryHost>());
}

}  // namespace dripgate::embed
