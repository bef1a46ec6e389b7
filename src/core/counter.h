// CounterState: what a store keeps for one counter key, whatever the algorithm. Backends load it, call
// core/check, and write it back; only core reads the numbers in it. Plain values, any thread.
//
// A state that has run out (bucket full again, window over, log empty) means the same as no state: a backend
// may drop it from forgettable_at on, and no answer changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::core {

/// Units by time of admission, ascending; equal times share an entry. Appending and dropping from the front
/// are O(1) amortised.
class RunLog {
 public:
  struct Entry {
    WallTime time;
    Units units = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  [[nodiscard]] std::span<const Entry> entries() const { return std::span(entries_).subspan(dropped_); }
  [[nodiscard]] Units total() const { return total_; }
  /// `time` at or after the newest entry's.
  void append(WallTime time, Units units);
  void drop_front(std::size_t count);
  /// Takes up to `units` out of what was admitted at `time` or kTakenLaterMax later, the earliest first.
  Units take_out(WallTime time, Units units);

 private:
  std::vector<Entry> entries_;
  std::size_t dropped_ = 0;  // entries at the front that are gone but not yet moved out
  Units total_ = 0;
};

/// The numbers a state was written under: a changed limit converts the state on its next use.
struct WrittenUnder {
  Algorithm algorithm = Algorithm::fixed_window;
  bool calendar = false;  // windows are days of a zone
  Units limit = 0;
  Duration window{};
  Units capacity = 0;

  friend bool operator==(const WrittenUnder&, const WrittenUnder&) = default;
};
[[nodiscard]] WrittenUnder written_under(const Limit& limit);

struct CounterState {
  bool exists = false;  // false: never used, or forgotten
  WrittenUnder written;
  /// Token bucket: the whole us of the theoretical arrival time, at which it is full again (kNeverEnds: no
  /// refill). Fixed window: start of the window. Sliding log: time of the newest entry.
  WallTime time = kLongAgo;
  /// Token bucket: the rest of the arrival time in 1/limit us, below limit (no refill: units spent). Fixed
  /// window: units used. Sliding log: 0.
  std::int64_t value = 0;
  RunLog log;
};

/// What one limit answers, and the state after it if the request as a whole is allowed.
struct Step {
  LimitOutcome outcome;
  WallTime time;
  std::int64_t value = 0;
  std::size_t dropped = 0;  // sliding log: entries that have left the window
};

/// Pure: looks at one limit. A cost of 0 asks for one unit and takes none.
[[nodiscard]] Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now);
/// The same for backends that keep states packed: of a bucket or a window that was written under `limit`
/// itself. The result is what to write back where the outcome is an allow.
struct PackedState {
  WallTime time;
  std::int64_t value = 0;
};
[[nodiscard]] PackedState evaluate_packed(PackedState state, const Limit& limit, Units cost, WallTime now,
                                          LimitOutcome& outcome);
/// As forgettable_at below; of a sliding log too, with the time of its newest entry.
[[nodiscard]] WallTime forgettable_at(PackedState state, const Limit& limit);

/// Writes an allowed step. A cost of 0 writes nothing.
void commit(CounterState& state, const Limit& limit, Units cost, const Step& step);

/// Brings a state that was written under other numbers to those of `limit`, as of now. True: it changed.
/// Whoever asks under a changed limit does this even when refused: from that moment on the new rate counts.
bool adopt(CounterState& state, const Limit& limit, WallTime now);

/// From here on the state equals none. `limit` is the one that it was written under (only its zone is used).
[[nodiscard]] WallTime forgettable_at(const CounterState& state, const Limit& limit);

/// Bytes for a backend's column; the first one is the format's digit. Errors of decode: corrupt,
/// newer_version.
[[nodiscard]] std::string encode(const CounterState& state);
[[nodiscard]] Result<CounterState> decode_counter(std::string_view bytes);

}  // namespace dripgate::core
