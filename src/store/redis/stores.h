// Makes the stores on Redis. They live on the client's loop.
#pragma once

#include <memory>
#include <string>

#include "redis/client.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::store {

struct RedisStoreOptions {
  std::string key_prefix{};  // before every key; no braces in it
  bool cluster = false;      // the keys of one call must share a hash tag
};

/// Charges of one request whose keys share a hash tag (without a cluster: all) are one call. Of several tags
/// each is asked in turn, and a denial gives back what earlier ones took; if that fails, or an error ends the
/// request, units may stay spent. What a later tag sees has a time of its own: `refund` of a sliding log
/// finds the units of the tag that was asked last only. `client` outlives the store.
[[nodiscard]] std::unique_ptr<CounterStore> make_redis_counter_store(redis::Client& client,
                                                                     RedisStoreOptions options = {});

/// Puts the scripts of the counters into every primary's cache and so makes the connections, that a first
/// check need not: its deadline knows no start. Errors are none of the caller's: a script that is missing
/// is sent with its first call.
void load_counter_scripts(redis::Client& client, Task done);

struct RedisBookingOptions {
  std::string key_prefix{};  // before every key; no braces in it
  /// Hash tags that a stream's booking keys are spread over, 1 to 100: the primaries of a cluster that can
  /// share its load. Part of the layout: with another number, events and keys of before are not found.
  std::size_t partitions = 1;
};

/// Calls that wait for the same write are sent together (booking_batches.h). `client` outlives the store.
[[nodiscard]] std::unique_ptr<BookingStore> make_redis_booking_store(redis::Client& client,
                                                                     RedisBookingOptions options = {});

/// One key per vendor key, which is its own hash tag. `client` outlives the store.
[[nodiscard]] std::unique_ptr<VendorStore> make_redis_vendor_store(redis::Client& client,
                                                                   std::string key_prefix = {});

}  // namespace dripgate::store
