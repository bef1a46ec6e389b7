// ExpiryBuckets: nodes ordered by the span of time in which they may be forgotten, so that finding what is
// over costs nothing per node kept. Intrusive: one pointer in the node, each node in at most one bucket. A
// node whose expiry moved later stays where it is and is filed again when its bucket comes up. Used by
// memory/booking_shard under the shard's lock.
#pragma once

#include <cassert>
#include <cstdint>
#include <map>

#include "base/time.h"

namespace dripgate::store {

/// Width of a bucket: what is over is forgotten at most this much late.
inline constexpr Duration kExpiryBucketWidth = std::chrono::minutes{10};

/// Node needs a member `Node* next_expiring`.
template <class Node>
class ExpiryBuckets {
 public:
  void file(Node& node, WallTime expires) {
    Bucket& bucket = bucket_of(expires);
    node.next_expiring = nullptr;
    (bucket.last == nullptr ? bucket.first : bucket.last->next_expiring) = &node;
    bucket.last = &node;
  }
  /// Takes a node out of the earliest bucket if that bucket is over; null when nothing is.
  Node* take_due(WallTime now) {
    if (buckets_.empty() || buckets_.begin()->first > number_of(now)) return nullptr;
    return take_earliest();
  }
  /// Takes a node out of the earliest bucket, whenever that is; null when empty.
  Node* take_earliest() {
    if (buckets_.empty()) return nullptr;
    const auto earliest = buckets_.begin();
    Node* node = earliest->second.first;
    earliest->second.first = node->next_expiring;
    if (earliest->second.first == nullptr) {
      if (recent_ == earliest) recent_ = buckets_.end();
      buckets_.erase(earliest);
    }
    node->next_expiring = nullptr;
    return node;
  }

 private:
  struct Bucket {
    Node* first = nullptr;
    Node* last = nullptr;
  };
  using Buckets = std::map<std::int64_t, Bucket>;

  // A node is filed under the first bucket that begins at or after its expiry, so a bucket is due as a whole.
  static std::int64_t number_of(WallTime t) {
    return std::chrono::floor<Width>(t).time_since_epoch().count();
  }
  Bucket& bucket_of(WallTime expires) {
    const std::int64_t number = std::chrono::ceil<Width>(expires).time_since_epoch().count();
    // Bookings of one backlog arrive in the order of their slots: the last bucket is nearly always the next.
    if (recent_ == buckets_.end() || recent_->first != number) recent_ = buckets_.try_emplace(number).first;
    return recent_->second;
  }

  using Width = std::chrono::duration<std::int64_t, std::ratio<kExpiryBucketWidth / std::chrono::seconds{1}>>;
  Buckets buckets_;
  typename Buckets::iterator recent_ = buckets_.end();
};

}  // namespace dripgate::store
