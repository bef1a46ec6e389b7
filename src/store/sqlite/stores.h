// BookingStore, CounterStore and VendorStore on the embedded SQLite file: core's functions over rows, written
// once per turn.
#pragma once

#include <memory>

#include "sqlite/database.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::store {

/// Single-threaded, on the database's executor; answers inside the turn (sqlite/database.h).
[[nodiscard]] std::unique_ptr<BookingStore> make_sqlite_booking_store(sqlite::Database& database,
                                                                      Clock& clock);
[[nodiscard]] std::unique_ptr<CounterStore> make_sqlite_counter_store(sqlite::Database& database,
                                                                      Clock& clock);
[[nodiscard]] std::unique_ptr<VendorStore> make_sqlite_vendor_store(sqlite::Database& database, Clock& clock);

}  // namespace dripgate::store
