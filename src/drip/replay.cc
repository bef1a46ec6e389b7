#include "drip/replay.h"

#include <utility>

#include "broker/attribute_names.h"
#include "drip/reasons.h"

namespace dripgate::drip {

void Replay::start(ReplayRequest request, Done<std::uint64_t> done) {
  if (request.per_second < 1 || request.per_second > kReplayRateMax) {
    return done(
        fail(ErrorCode::invalid_argument, "replay: per_second is " + std::to_string(request.per_second) +
                                              "; accepted are 1 to " + std::to_string(kReplayRateMax)));
  }
  if (request.sequence) return start_one(*request.sequence, std::move(done));
  if (run_) {
    return done(fail(ErrorCode::unavailable, "replay: another one is under way; try again when it has ended",
                     /*transient=*/true));
  }
  start_all(Duration{std::chrono::seconds{1}} / request.per_second, std::move(done));
}

void Replay::start_one(std::uint64_t sequence, Done<std::uint64_t> done) {
  wiring_.ports.dead_letters.find(
      sequence, guard_.wrap([this, sequence, done = std::move(done)](
                                Result<std::optional<broker::DeadLetter>> letter) mutable {
        if (!letter) return done(std::unexpected(letter.error()));
        if (!*letter) {
          return done(fail(ErrorCode::not_found, "replay: no dead letter " + std::to_string(sequence)));
        }
        if ((*letter)->reason == reasons::kPoison) {
          return done(fail(ErrorCode::conflict, "replay: letter " + std::to_string(sequence) +
                                                    " was never understood as an event: it can only be read "
                                                    "and removed"));
        }
        done(1);
        replay(**std::move(letter));
      }));
}

void Replay::start_all(Duration pace, Done<std::uint64_t> done) {
  run_.emplace().pace = pace;
  wiring_.ports.dead_letters.list(
      0, 0, guard_.wrap([this, done = std::move(done)](Result<broker::DeadLetterPage> page) mutable {
        if (!page) {
          run_.reset();
          return done(std::unexpected(page.error()));
        }
        run_->left = page->total;
        done(page->total);
        next();
      }));
}

void Replay::next() {
  // Letters that come in during the run are newer than those it counted.
  if (run_->left == 0) return run_.reset();
  if (run_->page.empty()) return load_page();
  broker::DeadLetter letter = std::move(run_->page.front());
  run_->page.pop_front();
  run_->after = letter.sequence;
  --run_->left;
  replay(std::move(letter));
  wiring_.ports.executor.post_after(run_->pace, guard_.wrap([this] { next(); }));
}

void Replay::load_page() {
  wiring_.ports.dead_letters.list(run_->after, kReplayPage,
                                  guard_.wrap([this](Result<broker::DeadLetterPage> page) {
                                    if (!page || page->letters.empty()) return run_.reset();
                                    for (auto& letter : page->letters)
                                      run_->page.push_back(std::move(letter));
                                    next();
                                  }));
}

void Replay::replay(broker::DeadLetter letter) {
  // Raw bytes that were not understood would go out as if they were an event.
  if (letter.reason == reasons::kPoison || wiring_.pulling.turned_away()) return;
  broker::Message message = std::move(letter.message);
  broker::set(message.attributes, broker::kGivenIdAttribute, letter.event_id);
  Admission admission = intake_.admit(wiring_.current(), std::move(message));
  if (!admission.reason.empty() && admission.reason != reasons::kTooManyHops) return;
  const EventPtr& event = admission.event;
  event->carrier = {Carrier::Kind::dead_letter, letter.sequence};
  event->first_received = wiring_.ports.clock.now();  // its horizon begins again
  event->hops = 0;
  wiring_.acks.take(*event);
  const bool booked_before = letter.generation != kNoGeneration;
  reservations_.reserve(event, booked_before ? std::optional(letter.generation) : std::nullopt);
}

}  // namespace dripgate::drip
