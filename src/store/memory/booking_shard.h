// BookingShard: the keys of some streams with their event records, under one lock. Called by
// memory/booking_store from any thread; a call holds no other lock.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/keyed_hash.h"
#include "store/booking_calls.h"
#include "store/memory/event_table.h"
#include "store/memory/expiry_buckets.h"

namespace dripgate::store {

/// Keys and event ids come from clients: the hash is secret-keyed, so that nobody can aim at one place.
class NameHash {
 public:
  explicit NameHash(HashKey secret) : secret_(secret) {}

  [[nodiscard]] std::uint64_t operator()(std::string_view key) const { return keyed_hash(secret_, key); }
  /// The hash of an id within the stream that hashed to `stream_hash`.
  [[nodiscard]] std::uint32_t operator()(std::uint64_t stream_hash, std::string_view id) const {
    const HashKey within{.first = secret_.first ^ stream_hash, .second = secret_.second};
    return static_cast<std::uint32_t>(keyed_hash(within, id) >> 32);
  }

 private:
  HashKey secret_;
};

/// A bound shared by all shards.
class Quota {
 public:
  explicit Quota(std::size_t max) : max_(max) {}
  [[nodiscard]] bool take() {
    if (used_.fetch_add(1, std::memory_order_relaxed) < max_) return true;
    give();
    return false;
  }
  void give() { used_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  const std::size_t max_;
  std::atomic<std::size_t> used_ = 0;
};

struct KeySlot {
  KeyRow row;
  core::BookingPolicyPtr policy;  // of the last call: what is idle depends on it
  const std::string* name = nullptr;
  KeySlot* next_expiring = nullptr;
  std::uint32_t events = 0;  // records of this key: they hold the key's name
  bool filed = false;
};

/// An event's name with its hash, for the length of one call.
struct EventRef {
  std::uint32_t hash;
  const std::string& key;
  const std::string& id;
};

class BookingShard {
 public:
  BookingShard(NameHash hash, Quota& keys, Quota& events)
      : hash_(hash), keys_(kBucketsMin, hash), key_quota_(keys), event_quota_(events) {}

  /// Starts loading what the call about this event will need: ask for it before anything else.
  [[nodiscard]] EventRef event(std::uint64_t stream_hash, const std::string& key,
                               const std::string& id) const {
    const std::uint32_t hash = hash_(stream_hash, id);
    events_.prefetch(hash);
    return {hash, key, id};
  }

  // Each call is atomic. Empty: there is no room for the names; nothing changed.
  std::optional<Result<core::ReserveAnswer>> reserve(const EventRef& event, const ReserveRequest& request,
                                                     WallTime now);
  std::optional<Result<core::GateAnswer>> gate(const EventRef& event, const GateRequest& request,
                                               WallTime now);
  bool freeze(const std::string& key, WallTime until, WallTime now);

  // These need no room.
  void settle(const EventRef& event, std::uint32_t generation, WallTime now);
  void release(const EventRef& event, std::uint32_t generation, const core::BookingPolicyPtr& policy,
               WallTime now);
  void thaw(const std::string& key, WallTime now);
  void reset(const std::string& key, WallTime now);
  core::KeyView inspect(const std::string& key, const core::BookingPolicy& policy, WallTime now);

  /// Makes room: forgets what is over, else keys that would answer as if they were new. Bounded.
  void make_room(WallTime now);

 private:
  using Keys = std::unordered_map<std::string, KeySlot, NameHash>;
  static constexpr std::size_t kBucketsMin = 8;

  struct Opened {
    KeySlot* key;
    EventNode* event;  // null: only the key was asked for
  };
  std::optional<Opened> open(const EventRef& event, WallTime now);
  void close(Opened opened, const core::BookingPolicyPtr& policy);
  KeySlot* open_key(const std::string& key);
  KeySlot* find_key(const std::string& key);
  EventNode* find_event(const EventRef& event);
  void forget(KeySlot& key);
  void forget(EventNode& event);
  void sweep(WallTime now);
  bool sweep_event(WallTime now);
  bool sweep_key(WallTime now);
  static bool is_idle(const KeySlot& key, WallTime now);
  bool evict_idle(WallTime now);

  const NameHash hash_;
  std::mutex mutex_;
  Keys keys_;
  EventTable events_;
  ExpiryBuckets<KeySlot> key_expiry_;
  ExpiryBuckets<EventNode> event_expiry_;
  Quota& key_quota_;
  Quota& event_quota_;
};

}  // namespace dripgate::store
