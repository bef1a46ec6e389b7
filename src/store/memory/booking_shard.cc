#include "store/memory/booking_shard.h"

#include <algorithm>
#include <utility>

namespace dripgate::store {
namespace {

/// Names looked at per call for being over: more than one call adds, so that what is over never piles up.
constexpr int kSweptPerCall = 3;
/// Names looked at in one shard when the store is full.
constexpr int kLooksWhenFull = 256;

}  // namespace

std::optional<Result<core::ReserveAnswer>> BookingShard::reserve(const EventRef& event,
                                                                 const ReserveRequest& request,
                                                                 WallTime now) {
  const std::lock_guard lock(mutex_);
  sweep(now);
  const auto opened = open(event, now);
  if (!opened) return std::nullopt;
  RowChanges changes;
  auto answer = calls::reserve(opened->key->row, opened->event->row, request, now, changes);
  close(*opened, request.policy);
  return answer;
}

std::optional<Result<core::GateAnswer>> BookingShard::gate(const EventRef& event, const GateRequest& request,
                                                           WallTime now) {
  const std::lock_guard lock(mutex_);
  sweep(now);
  const auto opened = open(event, now);
  if (!opened) return std::nullopt;
  RowChanges changes;
  auto answer = calls::gate(opened->key->row, opened->event->row, request, now, changes);
  close(*opened, request.policy);
  return answer;
}

bool BookingShard::freeze(const std::string& key, WallTime until, WallTime now) {
  const std::lock_guard lock(mutex_);
  KeySlot* slot = open_key(key);
  if (slot == nullptr) return false;
  RowChanges changes;
  calls::freeze(slot->row, until, now, changes);
  close(Opened{slot, nullptr}, nullptr);
  return true;
}

void BookingShard::settle(const EventRef& event, std::uint32_t generation, WallTime now) {
  const std::lock_guard lock(mutex_);
  RowChanges changes;
  if (EventNode* found = find_event(event)) calls::settle(found->row, generation, now, changes);
}

void BookingShard::release(const EventRef& event, std::uint32_t generation,
                           const core::BookingPolicyPtr& policy, WallTime now) {
  const std::lock_guard lock(mutex_);
  RowChanges changes;
  if (EventNode* found = find_event(event)) {
    calls::release(found->key->row, found->row, *policy, generation, now, changes);
  }
}

void BookingShard::thaw(const std::string& key, WallTime now) {
  const std::lock_guard lock(mutex_);
  RowChanges changes;
  if (KeySlot* slot = find_key(key)) calls::thaw(slot->row, now, changes);
}

void BookingShard::reset(const std::string& key, WallTime now) {
  const std::lock_guard lock(mutex_);
  RowChanges changes;
  if (KeySlot* slot = find_key(key)) calls::reset(slot->row, now, changes);
}

core::KeyView BookingShard::inspect(const std::string& key, const core::BookingPolicy& policy, WallTime now) {
  const std::lock_guard lock(mutex_);
  const KeySlot* slot = find_key(key);
  return calls::inspect(slot == nullptr ? KeyRow{} : slot->row, policy, now);
}

std::optional<BookingShard::Opened> BookingShard::open(const EventRef& event, WallTime now) {
  EventNode* known = find_event(event);
  if (known != nullptr && known->row.record && known->row.expires > now) return Opened{known->key, known};
  KeySlot* slot = open_key(event.key);
  if (slot == nullptr) return std::nullopt;
  if (known != nullptr) {  // over, and waiting to be swept: from now on it is this key's
    --known->key->events;
    ++slot->events;
    known->key = slot;
    return Opened{slot, known};
  }
  if (!event_quota_.take()) {
    close(Opened{slot, nullptr}, nullptr);
    return std::nullopt;
  }
  ++slot->events;
  return Opened{slot, &events_.insert(event.hash, slot, event.id)};
}

void BookingShard::close(Opened opened, const core::BookingPolicyPtr& policy) {
  if (opened.event != nullptr) {
    if (opened.event->filed) {
      // Its bucket finds it, expired or emptied as it may be by then.
    } else if (!opened.event->row.record) {
      forget(*opened.event);
    } else {
      event_expiry_.file(*opened.event, opened.event->row.expires);
      opened.event->filed = true;
    }
  }
  KeySlot& key = *opened.key;
  if (policy != nullptr && key.policy != policy) key.policy = policy;
  if (key.filed) return;
  if (key.row.expires == kLongAgo && key.events == 0) return forget(key);
  key_expiry_.file(key, key.row.expires);
  key.filed = true;
}

KeySlot* BookingShard::open_key(const std::string& key) {
  const auto known = keys_.find(key);
  if (known != keys_.end()) return &known->second;
  if (!key_quota_.take()) return nullptr;
  const auto made = keys_.try_emplace(key).first;
  made->second.name = &made->first;
  return &made->second;
}

KeySlot* BookingShard::find_key(const std::string& key) {
  const auto known = keys_.find(key);
  return known == keys_.end() ? nullptr : &known->second;
}

EventNode* BookingShard::find_event(const EventRef& event) {
  return events_.find(event.hash, stream_of(event.key), event.id);
}

void BookingShard::forget(KeySlot& key) {
  keys_.erase(keys_.find(*key.name));
  key_quota_.give();
}

void BookingShard::forget(EventNode& event) {
  --event.key->events;
  events_.erase(event);
  event_quota_.give();
}

void BookingShard::sweep(WallTime now) {
  for (int i = 0; i < kSweptPerCall && sweep_event(now); ++i) {
  }
  for (int i = 0; i < kSweptPerCall && sweep_key(now); ++i) {
  }
}

bool BookingShard::sweep_event(WallTime now) {
  EventNode* event = event_expiry_.take_due(now);
  if (event == nullptr) return false;
  if (event->row.expires > now) {
    event_expiry_.file(*event, event->row.expires);
  } else {
    forget(*event);
  }
  return true;
}

bool BookingShard::sweep_key(WallTime now) {
  KeySlot* key = key_expiry_.take_due(now);
  if (key == nullptr) return false;
  if (key->row.expires > now) {
    key_expiry_.file(*key, key->row.expires);
  } else if (key->events > 0) {
    key_expiry_.file(*key, now + kExpiryBucketWidth);
  } else {
    forget(*key);
  }
  return true;
}

bool BookingShard::is_idle(const KeySlot& key, WallTime now) {
  if (key.events > 0 || key.policy == nullptr) return false;
  const core::KeyView view = calls::inspect(key.row, *key.policy, now);
  return view.pending == 0 && !view.frozen_until && view.next_slot <= now &&
         std::ranges::all_of(view.released, [](core::Units units) { return units == 0; });
}

bool BookingShard::evict_idle(WallTime now) {
  KeySlot* key = key_expiry_.take_earliest();
  if (key == nullptr) return false;
  if (is_idle(*key, now)) {
    forget(*key);
  } else {
    key_expiry_.file(*key, std::max(key->row.expires, now));
  }
  return true;
}

void BookingShard::make_room(WallTime now) {
  const std::lock_guard lock(mutex_);
  int looks = 0;
  while (looks < kLooksWhenFull && sweep_event(now)) ++looks;
  while (looks < kLooksWhenFull && sweep_key(now)) ++looks;
  while (looks < kLooksWhenFull && evict_idle(now)) ++looks;
}

}  // namespace dripgate::store
