// EventTable: the event records of one shard, found by (stream, id). An open-addressed index of 8-byte
// entries over nodes that never move, so that one record costs two cache lines and a new id one look at the
// index, however many are kept. Used by memory/booking_shard under the shard's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/booking_calls.h"

namespace dripgate::store {

struct KeySlot;

struct EventNode {
  EventRow row;
  std::string id;
  KeySlot* key = nullptr;  // it was booked under
  EventNode* next_expiring = nullptr;
  std::uint32_t hash = 0;
  std::uint32_t number = 0;  // place in the chunks
  bool filed = false;        // in an expiry bucket
};

class EventTable {
 public:
  EventTable();
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  /// Starts loading the index line of a hash, so that `find` and `insert` do not wait for it later. The one
  /// call that needs no lock: an address that is out of date costs a wasted look, nothing else.
  void prefetch(std::uint32_t hash) const {
    const std::size_t at = hash & hint_mask_.load(std::memory_order_relaxed);
    const std::uintptr_t index = hint_index_.load(std::memory_order_relaxed);
    __builtin_prefetch(reinterpret_cast<const void*>(index + at * sizeof(Entry)), /*for writing*/ 1);
  }
  [[nodiscard]] EventNode* find(std::uint32_t hash, std::string_view stream, std::string_view id);
  /// The name must not be there yet.
  EventNode& insert(std::uint32_t hash, KeySlot* key, std::string id);
  void erase(EventNode& node);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t node = 0;  // number + 1; 0: free
  };
  static constexpr std::size_t kChunkNodes = 256;
  static constexpr std::size_t kIndexEntriesMin = 64;

  EventNode& node(std::uint32_t number) { return chunks_[number / kChunkNodes][number % kChunkNodes]; }
  EventNode& new_node();
  void place(Entry entry);
  void grow();
  void publish_hints();

  std::vector<Entry> index_;
  std::size_t mask_ = 0;
  // Where the index is, as numbers: prefetch reads them while another thread may move it.
  std::atomic<std::uintptr_t> hint_index_ = 0;
  std::atomic<std::size_t> hint_mask_ = 0;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<EventNode[]>> chunks_;
  std::uint32_t nodes_made_ = 0;
  std::vector<std::uint32_t> free_;
};

}  // namespace dripgate::store
