// The bounds of Google Cloud Tasks that config and broker share, as its documentation gives them.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace dripgate {

/// The service takes tasks up to 30 days ahead, by its own clock.
inline constexpr Duration kTaskAheadMax = std::chrono::hours{24 * 30} - std::chrono::minutes{10};
/// Names of tasks that are gone stay taken for this long at most (an hour by one page, a day by another): an
/// event id must not come back as a new event before, or its task would pass for the old one.
inline constexpr Duration kTaskNameTakenMax = std::chrono::hours{24};
/// The protocol says 100 KB for a task, the quotas 1 MB: one can be raised to the other.
inline constexpr std::size_t kTaskBytesDefault = 100'000;
inline constexpr std::size_t kTaskBytesMax = 1'000'000;
/// Of events that are too large for a task and wait elsewhere: all of a stream, and one (what Pub/Sub takes).
inline constexpr std::size_t kClaimBytesDefault = 256u << 20;
inline constexpr std::size_t kClaimEventBytesDefault = 10'000'000;
/// Of one stream; each dispatches at most 500 tasks per second.
inline constexpr std::size_t kTaskQueuesMax = 100;

}  // namespace dripgate
