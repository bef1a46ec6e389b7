#include "redis/multiplexer.h"

#include <utility>
#include <vector>

namespace dripgate::redis {

std::optional<Failure> Multiplexer::send(std::string_view wire, MonoTime deadline, Answered& done) {
  if (calls_.size() >= bounds_.in_flight_max) {
    return unsent(ErrorCode::full, node_,
                  std::to_string(calls_.size()) + " calls are in flight; at most " +
                      std::to_string(bounds_.in_flight_max));
  }
  if (queued_.size() + wire.size() > bounds_.queued_bytes_max) {
    return unsent(ErrorCode::full, node_,
                  "over " + std::to_string(bounds_.queued_bytes_max) + " bytes wait to be written");
  }
  calls_.push_back({.deadline = deadline, .bytes = wire.size(), .done = std::move(done)});
  queued_ += wire;
  return std::nullopt;
}

void Multiplexer::answer(Call& call, Outcome outcome) {
  if (auto done = std::exchange(call.done, nullptr)) done(std::move(outcome));
}

void Multiplexer::take_output(std::string& out) {
  out.clear();
  if (expired_queued_ == 0) {
    out.swap(queued_);
    sent_ = calls_.size();
    return;
  }
  std::size_t at = 0;
  std::deque<Call> kept;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (i >= sent_) {
      if (call.done) out.append(queued_, at, call.bytes);
      at += call.bytes;
      if (!call.done) continue;
    }
    kept.push_back(std::move(call));
  }
  calls_ = std::move(kept);
  sent_ = calls_.size();
  queued_.clear();
  expired_queued_ = 0;
}

Result<void> Multiplexer::received(std::string_view bytes) {
  reader_.feed(bytes);
  Parsed reply;
  for (;;) {
    const Result<bool> whole = reader_.next(reply);
    if (!whole) return std::unexpected(whole.error());
    if (!*whole) return {};
    if (sent_ == 0) {
      return fail(ErrorCode::corrupt, reply ? "a reply came that nobody asked for" : reply.error(), true);
    }
    // Out of the queue before its caller runs: it may call again.
    Call call = std::move(calls_.front());
    calls_.pop_front();
    --sent_;
    if (reply) {
      answer(call, std::move(*reply));
    } else if (call.done) {
      answer(call, std::unexpected(classify(reply.error(), node_)));
    }
  }
}

std::optional<MonoTime> Multiplexer::expire(MonoTime now) {
  std::optional<MonoTime> next;
  std::vector<std::pair<Answered, bool>> late;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (!call.done) continue;
    if (call.deadline > now) {
      if (!next || call.deadline < *next) next = call.deadline;
      continue;
    }
    const bool sent = i < sent_;
    if (!sent) ++expired_queued_;
    late.emplace_back(std::exchange(call.done, nullptr), sent);
  }
  for (auto& [done, sent] : late) {
    done(std::unexpected(sent ? unknown_outcome(node_, "no answer in time")
                              : unsent(ErrorCode::unavailable, node_, "could not be sent in time")));
  }
  return next;
}

void Multiplexer::disconnected(std::string_view why) {
  reader_.reset();
  std::vector<Call> lost;
  for (; sent_ > 0; --sent_) {
    lost.push_back(std::move(calls_.front()));
    calls_.pop_front();
  }
  for (Call& call : lost) {
    if (call.done) answer(call, std::unexpected(unknown_outcome(node_, why)));
  }
}

void Multiplexer::fail_queued(const Failure& why) {
  std::vector<Call> queued;
  for (std::size_t i = sent_; i < calls_.size(); ++i) queued.push_back(std::move(calls_[i]));
  while (calls_.size() > sent_) calls_.pop_back();
  queued_.clear();
  expired_queued_ = 0;
  for (Call& call : queued) {
    if (call.done) answer(call, std::unexpected(why));
  }
}

}  // namespace dripgate::redis
