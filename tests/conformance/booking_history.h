// A random history of BookingStore calls, run on two backends at once: their answers must be the same, and
// the full list of what was released must break no rule that can be counted naively. Steps are plain numbers
// (counter_history.h), for a property-based tool to make and shrink.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/backends.h"
#include "conformance/counter_history.h"

namespace dripgate::testing {

struct BookingReached {
  int released = 0, booked = 0, rebooked = 0, beyond = 0, impossible = 0, duplicates = 0, conflicts = 0;
  int given_back = 0, leases = 0, replays = 0, frozen = 0, limit_changes = 0, resets = 0;
  int steps_bridged = 0, costs_above_one = 0, late = 0;
};

/// One clock, the store under test and the store it is compared with.
struct BookingWorld {
  BookingWorld(const Backend& subject, const Backend& reference) {
    stores.push_back(subject.make(clock));
    stores.push_back(reference.make(clock));
  }
  VirtualClock clock;
  std::vector<std::unique_ptr<StoreUnderTest>> stores;
  WallTime seen = kLongAgo;
  int histories = 0;
};

class BookingHistory {
 public:
  static constexpr int kFamilies = 6;  // sets of limits; the first step of a history chooses one

  BookingHistory(BookingWorld& world, BookingReached& reached);

  /// Empty: both agreed and no rule was broken, at every step.
  [[nodiscard]] std::string run(const std::vector<HistoryStep>& steps);

 private:
  enum class State { released, booked, over };
  struct Event {
    store::Ticket ticket;
    State state = State::over;
    bool settled = false;
    bool counted = true;  // pending counts it: booked after the key's last reset
  };
  struct Release {
    std::string key;
    WallTime at;
    core::Units units;
  };

  std::string step(const HistoryStep& step);
  std::string newcomer(const HistoryStep& step);
  std::string repeat(const HistoryStep& step);
  std::string replay(const HistoryStep& step);
  std::string fire_next(const HistoryStep& step);
  std::string fire_any(const HistoryStep& step);
  std::string settle(const HistoryStep& step);
  std::string give_back(const HistoryStep& step);
  std::string freeze(const HistoryStep& step);
  std::string reset(const HistoryStep& step);
  std::string inspect(const HistoryStep& step);
  std::string step_clock_back();
  void change_limit(const HistoryStep& step);

  std::string reserve(Event& event, store::ReserveRequest request);
  std::string gate(Event& event, std::uint32_t generation);
  std::string released(const Event& event);
  [[nodiscard]] std::string exceeded(const std::string& key) const;
  [[nodiscard]] core::Units released_within(const std::string& key, WallTime from, WallTime to) const;
  Event* pick(const HistoryStep& step, bool only_booked);
  [[nodiscard]] std::string name(int key) const { return prefix_ + "key" + std::to_string(key % 2); }
  [[nodiscard]] core::BookingPolicyPtr policy() const { return policy_; }
  /// The call on both stores; they must answer alike, in words.
  template <class Answer, class Call, class Words>
  std::string both(Call call, Words words, Result<Answer>& answer);

  BookingReached& reached_;
  BookingWorld& world_;
  VirtualClock& clock_;
  std::string prefix_;
  core::BookingPolicyPtr policy_;
  bool limits_changed_ = false;
  std::map<std::string, Event> events_;
  std::map<std::string, WallTime> frozen_;
  std::map<std::string, WallTime> fresh_since_;  // the last reset
  std::vector<Release> releases_;
  WallTime began_;
};

}  // namespace dripgate::testing
