// Replay: dead letters go back through reserve with the same id, one at a time under a rate cap. A letter is
// removed once its event is durable elsewhere, and stays when it is refused again. One run at a time; what is
// left of a run is lost with the process, the letters are not. On the executor.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/guard.h"
#include "base/limits.h"
#include "drip/intake.h"
#include "drip/reservations.h"
#include "drip/wiring.h"

namespace dripgate::drip {

/// Letters looked at in one list call.
inline constexpr std::size_t kReplayPage = 64;

/// What is left of a replay.
struct ReplayRun {
  std::uint64_t after = 0;  // sequence of the last letter taken
  std::uint64_t left = 0;   // of those that were there when the run began
  Duration pace{};
  std::deque<broker::DeadLetter> page;
};

class Replay {
 public:
  Replay(Wiring& wiring, Reservations& reservations) : wiring_(wiring), reservations_(reservations) {}

  /// Errors: invalid_argument (rate), not_found (no such letter), conflict (one letter that is poison),
  /// unavailable (a run is under way).
  void start(ReplayRequest request, Done<std::uint64_t> done);

 private:
  void start_one(std::uint64_t sequence, Done<std::uint64_t> done);
  void start_all(Duration pace, Done<std::uint64_t> done);
  void next();
  void load_page();
  void replay(broker::DeadLetter letter);

  Wiring& wiring_;
  Reservations& reservations_;
  Intake intake_;
  std::optional<ReplayRun> run_;
  Guard guard_;
};

}  // namespace dripgate::drip
