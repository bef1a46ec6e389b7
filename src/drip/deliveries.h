// Deliveries: hands an event to the sink and follows its answer: done, retry, defer (429), dead letter, or
// book again when its window had passed. Called by reservations (NOW) and overflow_consumer. On the executor.
#pragma once

#include <string>
#include <unordered_map>

#include "base/guard.h"
#include "drip/endings.h"
#include "drip/planner.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class Reservations;

/// A chain whose windows pass this often before the sink begins lapses: it comes again by its lease.
inline constexpr int kExpiriesMax = 3;
/// Keys whose 429s are counted at a time; beyond, the counts start again from the events' own.
inline constexpr std::size_t kDeferredKeysMax = 10'000;

class Deliveries {
 public:
  Deliveries(Wiring& wiring, Endings& endings) : wiring_(wiring), endings_(endings) {}
  void set_reservations(Reservations& reservations) { reservations_ = &reservations; }

  void deliver(const EventPtr& event, WallTime valid_until);

 private:
  /// Consecutive 429s of a key: answers to calls in flight at the same time count once.
  struct Streak {
    int deferrals = 0;
    WallTime until;
  };

  void answered(const EventPtr& event, const broker::SinkAnswer& answer);
  void confirmed(const EventPtr& event);
  void book_again(const EventPtr& event);
  void retry(const EventPtr& event, const Retry& plan);
  void defer(const EventPtr& event, const Defer& plan);
  void frozen(const EventPtr& event, WallTime until, bool refused);
  void dead_letter(const EventPtr& event, const ToDeadLetters& plan, const std::string& detail);
  [[nodiscard]] int key_deferrals(const std::string& key, WallTime now) const;

  Wiring& wiring_;
  Endings& endings_;
  Reservations* reservations_ = nullptr;
  std::unordered_map<std::string, Streak> streaks_;
  Guard guard_;
};

}  // namespace dripgate::drip
