#include "store/memory/event_table.h"

#include <utility>

#include "store/memory/booking_shard.h"

namespace dripgate::store {

EventTable::EventTable() : index_(kIndexEntriesMin), mask_(kIndexEntriesMin - 1) {
  publish_hints();
}

void EventTable::publish_hints() {
  hint_index_.store(reinterpret_cast<std::uintptr_t>(index_.data()), std::memory_order_relaxed);
  hint_mask_.store(mask_, std::memory_order_relaxed);
}

EventNode* EventTable::find(std::uint32_t hash, std::string_view stream, std::string_view id) {
  for (std::size_t at = hash & mask_; index_[at].node != 0; at = (at + 1) & mask_) {
    if (index_[at].hash != hash) continue;
    EventNode& found = node(index_[at].node - 1);
    if (found.id == id && stream_of(*found.key->name) == stream) return &found;
  }
  return nullptr;
}

EventNode& EventTable::insert(std::uint32_t hash, KeySlot* key, std::string id) {
  // At most half full: chains stay within one cache line.
  if ((size_ + 1) * 2 > index_.size()) grow();
  EventNode& made = new_node();
  made.hash = hash;
  made.key = key;
  made.id = std::move(id);
  place(Entry{hash, made.number + 1});
  ++size_;
  return made;
}

void EventTable::erase(EventNode& gone) {
  std::size_t hole = gone.hash & mask_;
  while (index_[hole].node != gone.number + 1) hole = (hole + 1) & mask_;
  // Entries behind the hole that would no longer be reached move into it; no tombstones, so chains never age.
  for (std::size_t at = (hole + 1) & mask_; index_[at].node != 0; at = (at + 1) & mask_) {
    const std::size_t home = index_[at].hash & mask_;
    if (((at - home) & mask_) < ((at - hole) & mask_)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = Entry{};
  gone.row = EventRow{};
  gone.id = std::string{};
  gone.key = nullptr;
  gone.filed = false;
  free_.push_back(gone.number);
  --size_;
}

EventNode& EventTable::new_node() {
  if (!free_.empty()) {
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return node(number);
  }
  if (nodes_made_ % kChunkNodes == 0) chunks_.push_back(std::make_unique<EventNode[]>(kChunkNodes));
  EventNode& made = node(nodes_made_);
  made.number = nodes_made_++;
  return made;
}

void EventTable::place(Entry entry) {
  std::size_t at = entry.hash & mask_;
  while (index_[at].node != 0) at = (at + 1) & mask_;
  index_[at] = entry;
}

void EventTable::grow() {
  std::vector<Entry> old = std::exchange(index_, std::vector<Entry>(index_.size() * 2));
  mask_ = index_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.node != 0) place(entry);
  }
  publish_hints();
}

}  // namespace dripgate::store
