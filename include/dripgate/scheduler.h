// Scheduler: books what is over a limit into the future, for a consumer that has its own queue and its own
// timer. The drip's core without its pipeline (semantics.md section 6).
//
//   event ──reserve──▶ now ─────────────────────────▶ [RELEASED] hand it on, then done ──▶ [DONE]
//                    ├▶ at(ticket) ─▶ [BOOKED] persist the ticket in your timer, then ack the event
//                    │                   │ its slot comes: gate(ticket)
//                    │                   ├▶ go ───────▶ [RELEASED] hand it on, then done ──▶ [DONE]
//                    │                   ├▶ rebook ───▶ [BOOKED] persist the new ticket, drop the old one
//                    │                   │             (also of an older ticket: it may never have been kept)
//                    │                   ├▶ duplicate ▶ nothing: it went out
//                    │                   └▶ beyond_horizon, impossible ▶ dead-letter it
//                    │                   (your timer refuses it for good: release(ticket), then dead-letter)
//                    ├▶ beyond_horizon, impossible ──▶ dead-letter it; nothing was spent
//                    ├▶ duplicate ──────────────────▶ ack it: this id is done
//                    └▶ conflict ───────────────────▶ the same id with another body: refuse it
//
// In no window, by the store's clock, do releases exceed a limit: not when timers fire late, not after a
// crash. A reservation belongs to its event id: asking again, from any process, returns the same slot, so
// after kill -9 at any instant the event is reserved again. Between RELEASED and DONE a crash means that it
// is handed on once more, by the same id, after the release lease (60 s).
//
// Threads and callbacks: as for a Limiter. On SQLite an answer comes after its commit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dripgate/limiter.h"
#include "dripgate/policy.h"
#include "dripgate/result.h"
#include "dripgate/store.h"

namespace dripgate::DRIPGATE_V1 {

/// Where bookings go inside the shortest fixed window: over all of it, or at its beginning.
enum class Spread { even, start };

struct SchedulerOptions {
  std::string stream{};  // its id: keys are counted under it, so that two streams share none by accident
  /// The stream's limits: out of `streams:` of a config, or in code.
  std::string config_file{};
  std::string config_text{};
  std::vector<Limit> limits{};  // in code; all share the key of an event
  Spread spread = Spread::even;
  Span horizon = std::chrono::hours{24};       // in code: slot - first_received <= horizon is accepted
  Span id_retention = std::chrono::hours{24};  // in code: an id is remembered until max(slot, now) + this
  std::optional<Store> store{};                // in place of the config's `store:`
  Post post{};
  Span reload_every = std::chrono::seconds{2};  // of config_file; 0: never
  Environment environment{};
};

struct ReserveRequest {
  std::string event_id{};  // unique within the stream; 1 to 256 bytes
  std::string key{};       // whom the event is for: "merchant_8421:payout"
  std::int64_t cost = 1;
  std::optional<Span> horizon{};              // of this event; empty: the stream's
  std::string_view body{};                    // only its digest is kept: tells a duplicate from a conflict
  std::optional<TimePoint> first_received{};  // empty: the store's now
  /// Of a further delivery attempt: the generation that was released or given back. Books again.
  std::optional<std::uint32_t> after_generation{};
};

/// One booking. What a timer entry must carry: enough to stand in for the reservation when the store was
/// emptied.
struct Ticket {
  std::string event_id{};
  std::string key{};
  std::uint32_t generation = 0;  // counts bookings of this id
  TimePoint slot{};              // when to ask gate()
  std::int64_t cost = 1;
  std::uint64_t body_digest = 0;
  TimePoint first_received{};
  Span horizon{};  // of this event; 0: the stream's

  /// One line of printable ASCII without blanks at its ends, to keep in a file, a header, a column.
  [[nodiscard]] std::string to_text() const;
  /// Error: invalid_argument (not written by to_text).
  static Result<Ticket> from_text(std::string_view text);

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

enum class ReserveVerdict { now, at, beyond_horizon, impossible, duplicate, conflict };

struct Reservation {
  ReserveVerdict verdict = ReserveVerdict::now;
  Ticket ticket{};          // now, at: the booking
  TimePoint now{};          // the store's clock
  TimePoint slot{};         // now: the moment of release; beyond_horizon: the slot it would have had
  TimePoint valid_until{};  // now: hand it on before this instant, else reserve again
  Limit limit{};            // the limit that decided the slot or refused the cost
};

enum class GateVerdict { go, rebook, beyond_horizon, impossible, duplicate };

struct Firing {
  GateVerdict verdict = GateVerdict::go;
  Ticket ticket{};  // go: to be done with; rebook: the new booking
  TimePoint now{};
  TimePoint slot{};  // beyond_horizon: the slot it would have had
  Limit limit{};
};

/// One key, for a person.
struct KeyState {
  TimePoint now{};
  std::optional<TimePoint> frozen_until{};
  std::int64_t pending = 0;              // booked and not yet released
  std::optional<TimePoint> last_slot{};  // the latest booking
  TimePoint next_slot{};                 // where a new event of cost 1 would go; == now: at once
  std::vector<Limit> limits{};
  std::vector<std::int64_t> released{};  // per limit: units released in the window that holds now
};

class Scheduler {
 public:
  /// Errors: invalid_argument (every problem of the config, one per line), not_found (no such stream), those
  /// of Store.
  static Result<Scheduler> open(SchedulerOptions options);
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  /// Errors of all calls: unavailable, timed_out (ask again with the same id or ticket), clock_stepped_back,
  /// full, invalid_argument, io.
  Result<Reservation> reserve(const ReserveRequest& request);
  void reserve(const ReserveRequest& request, Callback<Reservation> done);
  /// At the ticket's slot, or later.
  Result<Firing> gate(const Ticket& ticket);
  void gate(Ticket ticket, Callback<Firing> done);
  /// RELEASED -> DONE: the sink has confirmed. Repeating it, or an older generation, does nothing.
  Result<Done> done(const Ticket& ticket);
  void done(Ticket ticket, Callback<Done> done);
  /// The same for many at once: on SQLite they share a commit, on Redis a round trip. The first error, if
  /// any.
  Result<Done> settle(const std::vector<Ticket>& tickets);
  void settle(std::vector<Ticket> tickets, Callback<Done> done);
  /// BOOKED -> given back: its units return to every window that also holds the last booking.
  Result<Done> release(const Ticket& ticket);
  void release(Ticket ticket, Callback<Done> done);
  /// Nobody uses the key until then; the longest freeze wins. Booked slots inside are rebooked by the gate.
  Result<Done> freeze(const std::string& key, TimePoint until);
  void freeze(std::string key, TimePoint until, Callback<Done> done);
  Result<Done> thaw(const std::string& key);
  void thaw(std::string key, Callback<Done> done);
  Result<KeyState> inspect(const std::string& key);
  void inspect(std::string key, Callback<KeyState> done);

  [[nodiscard]] Store store() const;

 private:
  struct Impl;
  explicit Scheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::DRIPGATE_V1
