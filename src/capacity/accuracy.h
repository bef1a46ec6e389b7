// Accuracy: many clients, each with a connection of its own and one call at a time, ask for one key until the
// limit has been asked for several times over. Never more than the limit are admitted; exactly the limit
// where every call was answered.
#pragma once

#include "capacity/connections.h"
#include "capacity/result.h"
#include "net/io_loop.h"

namespace dripgate::capacity {

inline constexpr core::Units kAccuracyLimit = 1000;
inline constexpr std::uint64_t kAccuracyAsked = 3000;

/// Uses the first `clients` connections. The key is removed again.
[[nodiscard]] Accuracy measure_accuracy(net::IoLoop& loop, Connections& sites, std::size_t clients,
                                        core::Algorithm algorithm);

}  // namespace dripgate::capacity
