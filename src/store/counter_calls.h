// What every backend of the CounterStore port decides alike: which requests are wrong, and until when a
// counter and a refund's id are kept. Called by the backends. Pure: no I/O, no clock, no threads.
#pragma once

#include <string_view>

#include "base/limits.h"
#include "core/check.h"
#include "store/counter_store.h"

namespace dripgate::store {

/// Names of a store's own rows begin so; a counter key must not.
inline constexpr char kOwnRowPrefix = '\x01';
/// A counter is kept at least this long, however soon it is full again.
inline constexpr Duration kCounterKeptMin = 1s;

/// The largest limit or capacity: what every backend can keep.
inline constexpr core::Units kCounterUnitsMax = (core::Units{1} << 48) - 1;

namespace calls {

/// Error: invalid_argument.
[[nodiscard]] Result<void> check(const Charges& charges);
[[nodiscard]] Result<void> check(const Refund& refund);
[[nodiscard]] Result<void> check_key(std::string_view key);

/// Until when a counter's state must be kept.
[[nodiscard]] WallTime counter_expiry(const core::CounterState& state, const core::Limit& limit,
                                      WallTime now);
/// Until when the id of a refund must be kept: later, nothing is given back anyway.
[[nodiscard]] WallTime refund_expiry(const Refund& refund);

}  // namespace calls
}  // namespace dripgate::store
