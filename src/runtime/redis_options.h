// How the store of a config is reached: for the engine, and for the verbs that ask the same Redis.
#pragma once

#include "base/time.h"
#include "config/config.h"
#include "redis/options.h"

namespace dripgate::runtime {

/// Of one call of a stream or an operator. Not the check's few milliseconds: an fsync on every write, or a
/// batch, may take longer, and nobody waits at the other end.
inline constexpr Duration kStreamCallTimeout = std::chrono::seconds{1};

[[nodiscard]] redis::Options redis_options(const config::RedisStore& store);

}  // namespace dripgate::runtime
