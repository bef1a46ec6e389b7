// KeyBook: one key's state, policy and clock for the length of one call: where units fit, and how the tail
// and the repair cursor move. Used by booking_reserve.cc, booking_gate.cc and booking_view.cc only; the port
// is booking.h. Released / tail / repair / pending are the words of docs/booking.md.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/booking_plan.h"
#include "core/booking_state.h"
#include "core/booking_types.h"

namespace dripgate::core {

struct Placement {
  WallTime at;
  std::size_t deciding_limit = 0;
};

/// Where a rebooked event goes: into the room kept for it, or to the tail.
struct Rebooking {
  Placement place;
  bool via_repair = false;
};

class KeyBook {
 public:
  KeyBook(KeyState& state, const BookingPolicy& policy, const PlanRule& rule);

  /// Starts a call: clamps the clock, then carries the state over to the policy's limits.
  [[nodiscard]] Result<WallTime> enter(WallTime now);

  // --- questions (booking_cursor.cc)
  /// The limit that can never admit the cost.
  [[nodiscard]] std::optional<std::size_t> impossible(Units cost) const;
  /// The gate's test: not frozen, and every limit has room now; counts real releases only.
  [[nodiscard]] bool may_release(Units cost) const;
  /// Room now behind everything overdue, and nothing booked ahead. Valid after `anchor`.
  [[nodiscard]] bool newcomer_may_pass(Units cost) const;
  /// Until when a release at `at` stays in its windows and its lease.
  [[nodiscard]] WallTime release_valid_until(WallTime at) const;
  [[nodiscard]] Units released_units(std::size_t i) const;
  /// The limit whose window opens at the slot, longest first.
  [[nodiscard]] std::size_t deciding_limit(WallTime slot) const;
  [[nodiscard]] Placement place(const Cursor& cursor, WallTime from, Units cost, Spread spread) const;

  // --- moves (booking_book.cc, booking_replay.cc)
  /// Makes the tail stand at or after `from`, with room kept for everything pending.
  void anchor(WallTime from);
  void charge_newcomer(Units cost);
  /// Charges a release at now; `booking`: the record whose booking it fulfils, if it has one.
  void charge(Units cost, const EventRecord* booking);
  void book_at_tail(EventRecord& record, WallTime slot);
  [[nodiscard]] Rebooking search_again(const EventRecord& record, WallTime from);
  void book_again(EventRecord& record, const Rebooking& rebooking);
  /// Takes a booking's units out of the plan; `resolve`: out of what is pending.
  void unbook(const EventRecord& record);
  void resolve(const EventRecord& record);
  /// The store was emptied: newcomers wait until no release of before can count any more.
  void mark_history_unknown();

  [[nodiscard]] KeyState& state() { return state_; }
  [[nodiscard]] const KeyState& state() const { return state_; }
  [[nodiscard]] const BookingPolicy& policy() const { return policy_; }
  [[nodiscard]] WallTime now() const { return state_.last_seen; }

 private:
  enum class Numbers : std::uint8_t { gate, plan };
  /// Limits whose windows nest, shortest first, with what the first v + 1 of them admit per window of v.
  struct Nest {
    std::vector<std::size_t> order;
    std::vector<Units> capacity;
  };
  struct Reach {
    WallTime at;
    Units units = 0;
  };

  // booking_cursor.cc; a null cursor: real releases only.
  [[nodiscard]] const Holding& holding(std::size_t i, const Cursor* cursor) const;
  [[nodiscard]] Units log_limit(std::size_t i, Numbers numbers) const;
  [[nodiscard]] Units room(std::size_t i, const Cursor* cursor, WallTime t, Numbers numbers) const;
  [[nodiscard]] WallTime next(std::size_t i, const Cursor* cursor, WallTime t, Units cost,
                              Numbers numbers) const;
  [[nodiscard]] bool all_have_room(const Cursor* cursor, Units cost) const;
  void add(std::size_t i, Holding& holding, WallTime t, Units units, bool drain) const;
  void add(Cursor& cursor, WallTime t, Units units, bool drain) const;
  [[nodiscard]] WallTime spread_offset(const Cursor& cursor, WallTime t) const;

  // booking_replay.cc
  void start_from_releases(Cursor& cursor, WallTime from) const;
  void age_pending();
  void replay(Cursor& cursor, Units units, bool drain) const;
  [[nodiscard]] Units fitting(const Cursor& cursor, Units units, bool drain) const;
  [[nodiscard]] bool replay_bucket(Cursor& cursor, Units units, bool drain) const;
  [[nodiscard]] Nest nest() const;
  [[nodiscard]] Units skip_windows(const Nest& nest, Cursor& cursor, Units units) const;
  [[nodiscard]] bool empty_from(const Nest& nest, std::size_t level, const Cursor& cursor) const;
  void jump(Cursor& cursor, Units units) const;
  [[nodiscard]] Reach reach_alone(std::size_t i, const Cursor& cursor, Units units) const;
  [[nodiscard]] Reach reach_windows(std::size_t i, const Cursor& cursor, Units units) const;
  void stand(std::size_t i, Cursor& cursor, const Reach& reach, WallTime t, Units units) const;

  // booking_adapt.cc
  void adapt();
  [[nodiscard]] std::optional<std::size_t> find_print(std::uint64_t shape,
                                                      const std::vector<bool>& taken) const;
  [[nodiscard]] Holding rescaled(std::size_t i, Holding holding, Units old_limit) const;
  [[nodiscard]] Holding tail_of_added(std::size_t i) const;

  // booking_book.cc
  void sync(Cursor& cursor) const;
  void cross(WallTime slot);
  void charge_tail(Units cost, const EventRecord* booking);
  void charge_repair(Units cost, const EventRecord* booking);
  void unbook_from(Cursor& cursor, const EventRecord& record) const;
  void catch_up_repair(WallTime from);
  [[nodiscard]] bool may_repair(const EventRecord& record, WallTime from) const;
  void set_booked(EventRecord& record, WallTime slot, bool via_repair);
  /// The record's booking stands in today's cursors.
  [[nodiscard]] bool current(const EventRecord& record) const;
  [[nodiscard]] bool is_fixed(std::size_t i) const;

  KeyState& state_;
  const BookingPolicy& policy_;
  PlanRule rule_;
  std::optional<std::size_t> shortest_;  // the fixed window with the shortest span
  std::optional<std::size_t> top_;       // ... with the longest, where there are at least two
};

}  // namespace dripgate::core
