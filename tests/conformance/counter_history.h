// A random history of CounterStore calls, run on a backend and on the model side by side. Steps are plain
// numbers, so that a property-based tool can make and shrink them; what they mean depends on where the
// history stands (a window's edge, the wait that was promised last).
#pragma once

#include <string>
#include <vector>

#include "conformance/backends.h"
#include "conformance/counter_model.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

struct HistoryStep {
  int kind = 0;
  int key = 0;
  int a = 0;
  int b = 0;
};

/// What histories have come across: a generator that never gets there proves nothing.
struct Reached {
  int allowed = 0, denied = 0, impossible = 0, partly_denied = 0;
  int window_edges = 0, costs_above_one = 0, limit_changes = 0, equal_timestamps = 0;
  int expired = 0, refunds_given = 0, refunds_refused = 0, refunds_repeated = 0;
  int steps_bridged = 0, steps_failed = 0, promises_kept = 0, promises_one_short = 0;
};

/// One store for many histories: each has keys of its own and begins later than the last one ended.
struct HistoryWorld {
  explicit HistoryWorld(const Backend& backend) : under(backend.make(clock)) {}
  VirtualClock clock;
  std::unique_ptr<StoreUnderTest> under;
  WallTime seen = kLongAgo;  // the latest time the store has answered with
  int histories = 0;
};

class CounterHistory {
 public:
  static constexpr int kKinds = 17;
  static constexpr int kKeys = 4;
  static constexpr int kNumbers = 64;  // range of a and b

  CounterHistory(HistoryWorld& world, Reached& reached);

  /// Empty: the backend said what the model says, at every step.
  [[nodiscard]] std::string run(const std::vector<HistoryStep>& steps);

 private:
  struct Taken {
    store::Charges charges;
    WallTime at;
    std::string id;
    bool refunded = false;
  };

  std::string step(const HistoryStep& step);
  std::string consume(const store::Charges& charges, bool take);
  std::string refund(const HistoryStep& step);
  std::string reset(const HistoryStep& step);
  std::string inspect(const HistoryStep& step);
  std::string step_clock_back(const HistoryStep& step);
  void advance(const HistoryStep& step);
  void change_limit(const HistoryStep& step);

  [[nodiscard]] store::Charges charges(const HistoryStep& step) const;
  [[nodiscard]] std::string name(int key) const { return prefix_ + "k" + std::to_string(key); }
  [[nodiscard]] core::Units cost(int key, int number) const;
  [[nodiscard]] bool is_failing() const { return seen_ - clock_.now() > kClockClampMax; }
  [[nodiscard]] WallTime now() const { return std::max(seen_, clock_.now()); }
  void classify(const store::Charges& charges, const core::Decision& decision);

  Reached& reached_;
  VirtualClock& clock_;
  StoreUnderTest& under_;
  WallTime& seen_;
  std::string prefix_;
  CounterModel model_;
  std::vector<core::Limit> limits_;
  std::vector<Taken> taken_;
  std::vector<WallTime> last_grant_;
  std::optional<Duration> promised_;
};

}  // namespace dripgate::testing
