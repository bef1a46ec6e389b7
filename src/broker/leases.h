// Leases: which rows are out (claimed) and which were given back and wait to be handed out again (lapsed). In
// memory only: after a restart everything unsettled comes again. Bounds: the owner's flow control and
// kLapsedMax. Used by sources and timers of every adapter; no clock, no executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/limits.h"

namespace dripgate::broker {

/// A lapsed row comes again after this, doubled for each consecutive lapse ...
inline constexpr Duration kRedeliveryDelayMin = 1s;
/// ... up to this.
inline constexpr Duration kRedeliveryDelayMax = 60s;
/// With so many lapsed rows waiting nothing new is handed out: what lapses them is not the row.
inline constexpr std::size_t kLapsedMax = 10'000;

class Leases {
 public:
  void claim(std::int64_t row, std::size_t bytes);
  /// Done with it, whatever state it was in.
  void settle(std::int64_t row);
  /// Given back: the delay until ready(row) is to be called. Empty: it is not out.
  std::optional<Duration> lapse(std::int64_t row);
  void ready(std::int64_t row);

  /// The next row to hand out again. It stays lapsed until claim() or settle().
  std::optional<std::int64_t> take_ready();
  void put_back_ready(std::int64_t row) { ready_.push_front(row); }
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }

  [[nodiscard]] bool contains(std::int64_t row) const {
    return claimed_.contains(row) || lapsed_.contains(row);
  }
  [[nodiscard]] int lapses(std::int64_t row) const;
  [[nodiscard]] std::size_t claimed() const { return claimed_.size(); }
  [[nodiscard]] std::size_t claimed_bytes() const { return claimed_bytes_; }
  [[nodiscard]] std::size_t lapsed() const { return lapsed_.size(); }

 private:
  std::unordered_map<std::int64_t, std::size_t> claimed_;  // row -> bytes
  std::unordered_map<std::int64_t, int> lapsed_;           // row -> how often; not out
  std::unordered_map<std::int64_t, int> again_;            // row -> how often; out again
  std::deque<std::int64_t> ready_;
  std::size_t claimed_bytes_ = 0;
};

}  // namespace dripgate::broker
