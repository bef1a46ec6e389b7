// Reading what Redis answers to stream commands and scripts. Texts are moved out of the reply. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/message.h"
#include "redis/reply.h"

namespace dripgate::broker::redis_streams {

struct StreamEntry {
  std::string id;
  std::vector<std::string> words;  // names and values in turn; empty: the entry was deleted meanwhile
};

/// A list of entries as XRANGE, XCLAIM and XAUTOCLAIM give it; what has another form is left out.
[[nodiscard]] std::vector<StreamEntry> take_entries(redis::Reply& list);
/// The one stream of an XREADGROUP; nil: nothing there.
[[nodiscard]] std::vector<StreamEntry> take_read(redis::Reply& reply);
/// Of "1800000000000-7": when Redis took it, whole ms; of a number that is no time: 1970.
[[nodiscard]] WallTime time_of(std::string_view entry_id);

/// Decimal digits, as Redis writes integers and whole scores; anything else is 0.
[[nodiscard]] std::int64_t to_integer(std::string_view text);
/// An item of a script's reply; absent or of another kind: empty.
[[nodiscard]] std::string_view text_at(const redis::Reply& reply, std::size_t index);
/// Seconds and us from `index` on, as TIME gives them; what is no time counts as 0.
[[nodiscard]] std::int64_t time_at(const redis::Reply& reply, std::size_t index);
[[nodiscard]] std::unexpected<Error> odd_reply(std::string_view key);

}  // namespace dripgate::broker::redis_streams
