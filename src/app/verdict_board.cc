#include "app/verdict_board.h"

#include <utility>

namespace dripgate::app {

void VerdictBoard::enter(const IngestCallPtr& call, sqlite::Database& database) {
  for (std::size_t i = 0; i < call->message_ids.size(); ++i) {
    if (call->message_ids[i].empty()) continue;
    seats_.emplace(Name{call->stream, call->message_ids[i]}, Seat{call, i});
    ++call->open;
  }
  database.after_commit([this, call](Result<void> committed) {
    if (!call->done) return;
    if (!committed) {
      leave(call);
      return std::exchange(call->done, nullptr)(std::unexpected(committed.error()));
    }
    call->durable = true;
    answer_if_complete(call);
  });
}

void VerdictBoard::verdict(const std::string& stream, const drip::EventVerdict& verdict,
                           sqlite::Database& database) {
  Name name{stream, verdict.message_id};
  if (!seats_.contains(name)) return;
  // A verdict whose commit fails is void; the pipeline decides again once it is rebuilt.
  database.after_commit([this, name = std::move(name), verdict](Result<void> committed) {
    if (committed) settle(name, verdict);
  });
}

void VerdictBoard::settle(const Name& name, const drip::EventVerdict& verdict) {
  std::vector<Seat> settled;
  const auto [first, last] = seats_.equal_range(name);
  for (auto seat = first; seat != last; ++seat) settled.push_back(seat->second);
  seats_.erase(first, last);
  for (const Seat& seat : settled) {
    server::IngestAnswer& answer = seat.call->answers[seat.index];
    answer.verdict = verdict;
    answer.accepted_only = false;
    if (!verdict.event_id.empty()) answer.id = verdict.event_id;
    --seat.call->open;
    answer_if_complete(seat.call);
  }
}

void VerdictBoard::answer_if_complete(const IngestCallPtr& call) {
  if (call->durable && call->done && (call->open == 0 || !call->waiting)) answer(call);
}

void VerdictBoard::expire(const IngestCallPtr& call) {
  call->waiting = false;
  answer_if_complete(call);
}

void VerdictBoard::answer(const IngestCallPtr& call) {
  leave(call);
  std::exchange(call->done, nullptr)(std::move(call->answers));
}

void VerdictBoard::leave(const IngestCallPtr& call) {
  for (const std::string& id : call->message_ids) {
    const auto [first, last] = seats_.equal_range(Name{call->stream, id});
    for (auto seat = first; seat != last;) {
      seat = seat->second.call == call ? seats_.erase(seat) : std::next(seat);
    }
  }
}

}  // namespace dripgate::app
