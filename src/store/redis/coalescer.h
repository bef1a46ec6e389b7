// Coalescer: single-charge requests that are waiting for the connection travel together. Equal ones (key,
// limit, cost) become one call for n units; buckets under common numbers with different keys of one tag
// become one call, up to kKeysPerCallMax. Flushed when the previous write is done, never by a timer. Exact:
// every request gets the answer that it would have got alone, in arrival order. Used by counter_store.
// Single-threaded.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/guard.h"
#include "store/redis/counter_scripts.h"

namespace dripgate::store {

/// A call of so many keys holds Redis up for about 100 us.
inline constexpr std::size_t kKeysPerCallMax = 32;
/// Equal requests of one call: its answers are worked out in one go.
inline constexpr std::size_t kRequestsPerCallMax = 1024;

class Coalescer {
 public:
  explicit Coalescer(CounterScripts& scripts) : scripts_(scripts) {}

  /// A charge with a cost.
  void consume(Charge charge, Done<core::Decision> done);

 private:
  /// Equal requests, in arrival order.
  struct Equal {
    std::shared_ptr<const Charges> charges;  // one
    std::vector<Done<core::Decision>> waiting;

    [[nodiscard]] const Charge& charge() const { return charges->front(); }
    [[nodiscard]] core::Units requests() const { return static_cast<core::Units>(waiting.size()); }
  };
  using EqualPtr = std::shared_ptr<Equal>;
  struct Shard {
    std::vector<EqualPtr> pending;
    std::unordered_map<std::string_view, EqualPtr> latest;  // per key; names point into pending
  };
  using Batch = std::vector<EqualPtr>;

  void flush(std::size_t shard);
  void send(Batch batch);
  void send_generic(const EqualPtr& equal);
  void answer_fast(const EqualPtr& equal, const Result<Heard>& heard, std::size_t place);
  static void answer(Equal& equal, core::CounterState state, WallTime now, std::optional<core::Units> taken);
  static void refuse(Equal& equal, const Error& error);

  CounterScripts& scripts_;
  std::unordered_map<std::size_t, Shard> shards_;
  Guard guard_;  // last
};

}  // namespace dripgate::store
