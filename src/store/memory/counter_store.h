// CounterStore in this process' memory: the port over memory/counter_table. Made by memory/stores.h.
// Thread-safe.
#pragma once

#include <mutex>

#include "store/counter_store.h"
#include "store/memory/counter_table.h"
#include "store/memory/refund_ledger.h"
#include "store/store_clock.h"

namespace dripgate::store {

class MemoryCounterStore : public CounterStore {
 public:
  MemoryCounterStore(Clock& clock, std::size_t keys_max) : clock_(clock), table_(keys_max) {}

  void consume(Charges charges, Done<core::Decision> done) override;
  void peek(Charges charges, Done<core::Decision> done) override;
  void refund(Refund refund, Done<bool> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(Charge charge, Done<CounterView> done) override;

 private:
  [[nodiscard]] Result<WallTime> admit(const Charges& charges);
  [[nodiscard]] Result<core::Decision> take(const Charges& charges);
  [[nodiscard]] Result<core::Decision> take_one(const Charges& charges);
  [[nodiscard]] Result<core::Decision> look(const Charges& charges);
  [[nodiscard]] Result<bool> give_back(const Refund& refund);
  [[nodiscard]] Result<CounterView> view(Charges charges);

  StoreClock clock_;
  CounterTable table_;
  std::mutex refunds_mutex_;  // held over a whole refund: of two with one id the second waits
  RefundLedger refunds_;
};

}  // namespace dripgate::store
