// BookingBatches: calls about events that wait for the next write to their node, put together: up to 32 of
// one script and one hash tag are one script call. No timer: what queues while a write is in flight goes with
// the next one. Used by booking_routes. Single-threaded.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.h"
#include "core/booking_types.h"
#include "redis/client.h"
#include "store/redis/booking_wire.h"
#include "store/redis/node_clock.h"

namespace dripgate::store {

/// Items of one script call: larger ones would block Redis for too long.
inline constexpr std::size_t kItemsPerCallMax = 32;
/// Items that wait for one node's connection.
inline constexpr std::size_t kItemsWaitingMax = 65'536;

/// One item of a script call; what of its bytes depends on its place in the call is put in when it is sent.
struct BookingItem {
  const redis::Script* script;
  std::string place;              // what all keys of the call begin with, up to the hash tag
  std::uint8_t flags = 0;         // the item's first byte
  core::BookingPolicyPtr policy;  // null: the script takes none
  std::string row;                // the key's row; empty: the script reads none
  KeyTag tag;                     // of that key
  std::string bucket;             // of the event's record or claim
  std::string since{};            // the place's marker (lua/lib_booking_since); empty: the script reads none
  std::string rest;               // the item's bytes behind the indexes, before the id
  std::string field;              // the id
  std::string extra;              // the bytes behind it
  Done<wire::ItemAnswer> done;
};

class BookingBatches {
 public:
  explicit BookingBatches(redis::Client& client) : client_(client) {}

  /// Errors: those of the client (all items of a call alike), of wire::read_batch, full.
  void add(BookingItem item);
  [[nodiscard]] NodeClocks& clocks() { return clocks_; }

 private:
  struct Call;
  struct Waiting {
    std::vector<BookingItem> items;
    bool flushing = false;
  };

  void flush(std::size_t shard);
  void send(std::size_t shard, std::vector<BookingItem> items);
  void heard(Call& call, Result<redis::Reply> reply);

  redis::Client& client_;
  NodeClocks clocks_;
  std::vector<Waiting> waiting_;               // by shard
  std::map<std::string, std::int64_t> since_;  // by marker, as last heard: one for each partition of a stream
  Guard guard_;                                // last: what is under way when this ends is never heard
};

}  // namespace dripgate::store
