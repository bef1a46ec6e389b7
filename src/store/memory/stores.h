// BookingStore, CounterStore and VendorStore in this process' memory. Thread-safe; bounded: idle keys go
// first, and a key whose debt still matters is never forgotten (a full store answers ErrorCode::full
// instead).
#pragma once

#include <cstddef>
#include <memory>

#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::store {

/// Keys; a BookingStore remembers as many event ids beside them.
inline constexpr std::size_t kMemoryKeysMax = 4'000'000;

[[nodiscard]] std::unique_ptr<BookingStore> make_memory_booking_store(Clock& clock,
                                                                      std::size_t keys_max = kMemoryKeysMax);
[[nodiscard]] std::unique_ptr<CounterStore> make_memory_counter_store(Clock& clock,
                                                                      std::size_t keys_max = kMemoryKeysMax);

/// Vendor keys: accounts at vendors, each with its calls in flight.
inline constexpr std::size_t kMemoryVendorKeysMax = 100'000;
[[nodiscard]] std::unique_ptr<VendorStore> make_memory_vendor_store(
    Clock& clock, std::size_t keys_max = kMemoryVendorKeysMax);

}  // namespace dripgate::store
