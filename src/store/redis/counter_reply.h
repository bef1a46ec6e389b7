// What counter scripts answer, as values. Used by counter_scripts. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "redis/reply.h"
#include "store/counter_store.h"

namespace dripgate::store {

enum class Trouble : std::int64_t { none = 0, needs_days = 2, stepped_back = 3, unknown_format = 4 };

struct CounterReply {
  Trouble trouble = Trouble::none;
  std::optional<core::Units>
      taken;      // requests admitted; refund: 1 if anything was given back; fast: not said
  WallTime time;  // Redis' own
  std::vector<std::string> texts;
};

/// Of consume, peek and refund. Error of all three: corrupt.
[[nodiscard]] Result<CounterReply> read_counter_reply(redis::Reply reply);
/// Of consume_buckets.
[[nodiscard]] Result<CounterReply> read_buckets_reply(const redis::Reply& reply);
/// Of consume_bucket.
[[nodiscard]] Result<CounterReply> read_bucket_reply(const redis::Reply& reply);

}  // namespace dripgate::store
