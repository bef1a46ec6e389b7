// Holdings: the stream entries in this process' hands, by token and by entry id, and for how many renewals of
// their leases. Bounds: the source's flow control, kReadBatch and kLapsedMax; kExpiredMax. No clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace dripgate::broker::redis_streams {

/// Entries past the handling deadline whose late ack still finds them.
inline constexpr std::size_t kExpiredMax = 10'000;

class Holdings {
 public:
  struct Held {
    std::size_t lane = 0;
    std::string id;
    int before = 0;        // 1: in somebody's hands before
    int rounds = 0;        // renewals since it was read or handed out
    bool expired = false;  // past the deadline: no longer ours
  };
  struct Round {
    std::vector<std::vector<std::string>> keep;  // per lane: ids whose lease is to be renewed
    std::vector<std::uint64_t> expired;          // tokens that reached the deadline just now
  };

  explicit Holdings(std::size_t lanes) : by_id_(lanes) {}

  /// A token for an entry that is not held.
  std::uint64_t take(std::size_t lane, std::string id, int before);
  [[nodiscard]] bool holds(std::size_t lane, const std::string& id) const {
    return by_id_[lane].contains(id);
  }
  /// Null: unknown, or dropped.
  [[nodiscard]] const Held* find(std::uint64_t token) const;
  /// Counts its time from now on again.
  void renew(std::uint64_t token);
  void drop(std::uint64_t token);
  /// One interval has passed. What was taken since the last round needs no renewal yet.
  Round age(int deadline_rounds);

 private:
  std::unordered_map<std::uint64_t, Held> held_;
  std::vector<std::unordered_map<std::string, std::uint64_t>> by_id_;  // per lane; not the expired
  std::deque<std::uint64_t> expired_;
  std::uint64_t last_token_ = 0;
};

}  // namespace dripgate::broker::redis_streams
