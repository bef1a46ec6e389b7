// BookingRoutes: finds the key that an event id belongs to, wherever in its stream that is, and asks there
// (docs/decisions/0009, 0012). With one partition the script itself sees the record; with several the id is
// claimed first, in a place that all keys ask. Used by booking_store. Single-threaded.
#pragma once

#include <memory>
#include <string>

#include "base/guard.h"
#include "store/redis/booking_batches.h"
#include "store/redis/booking_names.h"

namespace dripgate::store {

/// One call about one event.
struct EventCall {
  /// What is done where nothing is known of the id under the key that asks.
  enum class Kind : std::uint8_t {
    books,    // reserve: it becomes this key's
    fires,    // gate: the ticket is the reservation, unless another key has it
    settles,  // done: no effect
    returns   // release: no effect
  };
  Kind kind;
  const redis::Script* script;
  std::string key;
  std::string event_id;
  core::BookingPolicyPtr policy;  // settles: null
  std::uint8_t flags = 0;
  std::string rest;   // the item's bytes before the id
  std::string extra;  // ... and behind it
  Done<wire::ItemAnswer> done;
};

class BookingRoutes {
 public:
  BookingRoutes(redis::Client& client, BookingNames names) : names_(std::move(names)), batches_(client) {}

  /// Answers with an outcome of core, never kMoved; kUnknown (settles, returns): no effect.
  void ask(EventCall call);
  [[nodiscard]] const BookingNames& names() const { return names_; }
  [[nodiscard]] NodeClocks& clocks() { return batches_.clocks(); }

 private:
  struct Journey;
  using JourneyPtr = std::shared_ptr<Journey>;

  void ask_key(const JourneyPtr& journey, const KeyTag& tag, bool only_known);
  void heard(const JourneyPtr& journey, bool only_known, Result<wire::ItemAnswer> answer);
  void ask_claim(const JourneyPtr& journey);
  void claimed(const JourneyPtr& journey, const wire::ItemAnswer& answer);

  BookingNames names_;
  BookingBatches batches_;
  Guard guard_;  // last: what is under way when this ends is never heard
};

}  // namespace dripgate::store
