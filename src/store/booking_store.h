// The port to shared bookings of the drip: reserve, gate, settle, freeze. One atomic call each; every backend
// gives the same answers (tests/conformance). Calls may be repeated: a reservation belongs to its event id.
//
// SQLite: answers come inside the current turn, before its commit; what leaves the process waits for
// sqlite::Database::after_commit.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "core/booking_types.h"

namespace dripgate::store {

struct ReserveRequest {
  std::string key;       // booking key, starts with the stream's id: "payouts:merchant_8421:payout"
  std::string event_id;  // unique within the stream: known under another key, it stays with that one
  std::uint64_t body_digest = 0;
  core::Units cost = 1;
  std::optional<WallTime> first_received;  // empty: the store's now
  /// Books again after this generation was released, given back or dead-lettered (next delivery attempt,
  /// dead-letter replay). Repeating it returns the booking it made.
  std::optional<std::uint32_t> after_generation;
  core::BookingPolicyPtr policy;
};

/// What a timer entry carries: enough to stand in for the reservation when the store was emptied.
struct Ticket {
  std::string key;
  std::string event_id;
  std::uint64_t body_digest = 0;
  std::uint32_t generation = 0;
  WallTime slot;
  core::Units cost = 1;
  WallTime first_received;

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

struct GateRequest {
  Ticket ticket;
  core::BookingPolicyPtr policy;
};

class BookingStore {
 public:
  virtual ~BookingStore() = default;
  /// Errors of all calls: unavailable, timed_out (ask again with the same id), clock_stepped_back, full,
  /// invalid_argument.
  virtual void reserve(ReserveRequest request, Done<core::ReserveAnswer> done) = 0;
  virtual void gate(GateRequest request, Done<core::GateAnswer> done) = 0;
  /// RELEASED -> DONE: the sink or the overflow topic has confirmed. Another generation, or no record: no
  /// effect.
  virtual void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> done) = 0;
  /// BOOKED -> given back: the timer refused it for good. Its units return to every window that also holds
  /// the tail.
  virtual void release(std::string key, std::string event_id, std::uint32_t generation,
                       core::BookingPolicyPtr policy, Done<void> done) = 0;
  /// Nobody uses the key until then; the longest freeze wins.
  virtual void freeze(std::string key, WallTime until, Done<void> done) = 0;
  virtual void thaw(std::string key, Done<void> done) = 0;
  /// Forgets the key's counters and cursors; event records stay, so that nothing is delivered twice.
  virtual void reset(std::string key, Done<void> done) = 0;
  virtual void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) = 0;
};

}  // namespace dripgate::store
