#include "app/verdict_board.h"

#include <utility>

namespace dripgate::app {

void VerdictBoard::enter(const IngestCallPtr& call) {
  call->publishing = call->message_ids.size();
  for (std::size_t i = 0; i < call->message_ids.size(); ++i) {
    seats_.emplace(Name{call->stream, call->message_ids[i]}, Seat{call, i});
    ++call->open;
  }
}

void VerdictBoard::published(const IngestCallPtr& call, std::size_t index, Result<void> answer, Turn& turn) {
  if (!answer) refuse(call, index, answer.error());
  if (--call->publishing > 0) return;
  turn.when_durable([this, call](Result<void> lasts) {
    if (!call->done) return;
    if (!lasts) {
      leave(call);
      return std::exchange(call->done, nullptr)(std::unexpected(lasts.error()));
    }
    call->durable = true;
    answer_if_complete(call);
  });
}

void VerdictBoard::refuse(const IngestCallPtr& call, std::size_t index, const Error& error) {
  const auto [first, last] = seats_.equal_range(Name{call->stream, call->message_ids[index]});
  for (auto seat = first; seat != last; ++seat) {
    if (seat->second.call != call || seat->second.index != index) continue;
    seats_.erase(seat);
    --call->open;
    call->answers[index].accepted_only = false;
    call->answers[index].error = error;
    return;
  }
  // No seat: its verdict is in, so the topic has it although its answer was lost.
}

void VerdictBoard::verdict(const std::string& stream, const drip::EventVerdict& verdict, Turn& turn) {
  Name name{stream, verdict.message_id};
  if (!seats_.contains(name)) return;
  // A verdict that does not last is void; the pipeline decides again once it is rebuilt.
  turn.when_durable([this, name = std::move(name), verdict](Result<void> lasts) {
    if (lasts) settle(name, verdict);
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
