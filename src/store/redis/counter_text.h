// What a counter looks like in Redis (the texts and packed charges of lua/lib_counter.lua) to C++. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/counter.h"
#include "store/counter_store.h"

namespace dripgate::store {

/// Empty text: none. Errors: newer_version (another format), corrupt.
[[nodiscard]] Result<core::CounterState> read_counter_text(std::string_view text);

/// A charge as argument of consume, peek and refund; `key` is its place among KEYS. `around`: a time near the
/// store's now, for the days of a calendar window (kLongAgo: unknown; the script then asks for it).
[[nodiscard]] std::string pack_charge(const Charge& charge, std::size_t key, WallTime around);
/// The argument of the bucket scripts: `floor` (lua/lib_clock), to which buckets are added.
[[nodiscard]] std::string pack_floor(WallTime floor);
/// A charge on a bucket under common numbers, for up to 65,535 equal requests (lua/consume_bucket).
void add_bucket(std::string& argument, const Charge& charge, core::Units requests);
/// What refund wants behind it: from when on nothing is given back, and the start of the window at
/// `consumed_at`.
[[nodiscard]] std::string pack_refund(const Charge& charge, WallTime consumed_at);

}  // namespace dripgate::store
