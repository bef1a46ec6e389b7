#include "broker/pubsub/subscription_source.h"

#include <algorithm>
#include <utility>

#include "broker/leases.h"
#include "broker/pubsub/message_codec.h"

namespace dripgate::broker::pubsub {
namespace {

// What the server may have on its way to one of several streams.
std::int64_t share(std::size_t whole, std::size_t parts) {
  return static_cast<std::int64_t>((whole + parts - 1) / parts);
}

// After so many lapses in a row it comes again after 1 s, doubled up to kRedeliveryDelayMax.
int seconds_away(int lapses) {
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(kRedeliveryDelayMax).count();
  std::int64_t seconds = 1;
  for (int i = 1; i < lapses && seconds < most; ++i) seconds *= 2;
  return static_cast<int>(std::min(seconds, most));
}

}  // namespace

SubscriptionSource::SubscriptionSource(ContextPtr context, SourceOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      elapsed_(context_->clock.now()),
      sender_(context_, options_.subscription),
      leases_(context_->handling_deadline),
      lines_(static_cast<std::size_t>(std::clamp(options_.streams, 1, kStreamsMax))) {}

SubscriptionSource::~SubscriptionSource() = default;

void SubscriptionSource::start(FlowControl flow, Handler handler) {
  flow_ = flow;
  holdings_ = Holdings(flow);
  handler_ = std::make_shared<Handler>(std::move(handler));
  context_->executor.post_after(kLeaseTick, guard_.wrap([this] { tick(); }));
  resume();
}

// The server is told to stop by the end of the streams; what is here stays here, its leases kept.
void SubscriptionSource::pause() {
  paused_ = true;
  for (Line& line : lines_) line.stream.reset();
}

void SubscriptionSource::resume() {
  paused_ = false;
  if (handler_ == nullptr) return;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].stream == nullptr) open(i);
  }
  post_look();
}

void SubscriptionSource::open(std::size_t index) {
  Line& line = lines_[index];
  line.number = ++streams_opened_;
  line.reading = true;
  line.opened = now();
  told_seconds_ = leases_.lease_seconds();
  const PullOptions options{.subscription = options_.subscription,
                            .client_id = options_.client_id + "-" + std::to_string(index),
                            .ack_deadline_seconds = told_seconds_,
                            .max_outstanding_messages = share(flow_.max_outstanding_messages, lines_.size()),
                            .max_outstanding_bytes = share(flow_.max_outstanding_bytes, lines_.size())};
  const auto current = [this, index, number = line.number] { return lines_[index].number == number; };
  line.stream = context_->transport->pull(
      options, {.pulled = guard_.wrap([this, index, current](Pulled pulled_now) {
                  if (current()) pulled(index, std::move(pulled_now));
                }),
                .ended = guard_.wrap([this, index, current](const Failure& failure) {
                  if (current()) ended(index, failure);
                })});
  line.stream->read();
}

void SubscriptionSource::ended(std::size_t index, const Failure& failure) {
  Line& line = lines_[index];
  if (line.stream == nullptr) return;  // paused meanwhile
  line.stream.reset();
  line.reading = false;
  const Duration lived = now() - line.opened;
  line.failures = lived >= kStreamLived ? 0 : line.failures + 1;
  const Reopening next = reopening(failure, lived, line.failures);
  if (next.trouble && context_->trouble) {
    in_trouble_ = true;
    context_->trouble(options_.subscription, to_error(failure, "pull from " + options_.subscription));
  }
  reopen_later(index, next.wait);
}

void SubscriptionSource::reopen_later(std::size_t index, Duration wait) {
  context_->executor.post_after(wait, guard_.wrap([this, index, number = lines_[index].number] {
    const bool stale = lines_[index].number != number || lines_[index].stream != nullptr;
    if (!stale && is_pulling()) open(index);
  }));
}

void SubscriptionSource::pulled(std::size_t index, Pulled pulled) {
  Line& line = lines_[index];
  line.reading = false;
  line.failures = 0;
  well();
  if (pulled.exactly_once) {
    exactly_once_ = *pulled.exactly_once;
    leases_.exactly_once(exactly_once_);
  }
  for (Received& received : pulled.messages) take(std::move(received));
  post_look();
}

void SubscriptionSource::take(Received received) {
  std::uint64_t token = holdings_.token_of(received.message.id);
  if (token != 0 && !came_again(token, received)) return;
  const std::string message_id = received.message.id;
  Message message = from_wire(std::move(received.message));
  if (token == 0) {
    token = holdings_.take({.ack_id = std::move(received.ack_id),
                            .message_id = message_id,
                            .bytes = bytes_of(message),
                            .redeliveries = std::max(0, received.delivery_attempt - 1)});
  }
  leases_.take(token, now());
  if (exactly_once_) return receipt(token, std::move(message));
  waiting_.push_back({token, std::move(message)});
}

// True: it had lapsed and is to be handed out again. Else it was delivered twice while it is here: the newer
// ack id counts, the handler has it already or gets it once.
bool SubscriptionSource::came_again(std::uint64_t token, Received& received) {
  Held& held = *holdings_.find(token);
  if (held.lapsed && !held.acking) {
    holdings_.again(token, std::move(received.ack_id), received.delivery_attempt - 1);
    return true;
  }
  const bool kept = held.counted && !held.acking && !held.receipting;
  if (kept) sender_.forget(held.ack_id);
  held.ack_id = std::move(received.ack_id);
  if (!kept) return false;  // an ack or receipt on its way looks at the id again
  leases_.take(token, now());
  if (exactly_once_) sender_.modify(held.ack_id, leases_.lease_seconds(), {});
  return false;
}

// Exactly-once: a delivery is ours once its first extension has succeeded.
void SubscriptionSource::receipt(std::uint64_t token, Message message) {
  Held& held = *holdings_.find(token);
  held.receipting = true;
  auto done = [this, token, ack_id = held.ack_id, kept = std::move(message)](Result<void> result) mutable {
    receipted(token, ack_id, std::move(kept), result);
  };
  sender_.modify(held.ack_id, leases_.lease_seconds(), guard_.wrap(std::move(done)));
}

void SubscriptionSource::receipted(std::uint64_t token, const std::string& ack_id, Message message,
                                   const Result<void>& result) {
  Held* held = holdings_.find(token);
  if (held == nullptr) return;
  held->receipting = false;
  if (held->ack_id != ack_id) return receipt(token, std::move(message));  // delivered again meanwhile
  if (!result) return drop(token);
  waiting_.push_back({token, std::move(message)});
  post_look();
}

void SubscriptionSource::post_look() {
  if (look_posted_ || !is_pulling()) return;
  look_posted_ = true;
  context_->executor.post(guard_.wrap([this] { look(); }));
}

void SubscriptionSource::look() {
  look_posted_ = false;
  if (!is_pulling() || !hand_out() || !is_pulling()) return;
  for (Line& line : lines_) {
    if (line.stream == nullptr || line.reading || !holdings_.may_read()) continue;
    line.reading = true;
    line.stream->read();
  }
}

// False: the handler has ended this source.
bool SubscriptionSource::hand_out() {
  const std::weak_ptr<char> alive = alive_;
  const std::shared_ptr<Handler> handler = handler_;
  while (!paused_ && !waiting_.empty()) {
    const Held* held = holdings_.find(waiting_.front().token);
    const bool kept = held != nullptr && held->counted;
    if (kept && !holdings_.has_room(held->bytes)) break;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!kept) {
      drop(next.token);
      continue;
    }
    holdings_.hand_out(next.token);
    (*handler)(Delivery{std::move(next.message), next.token, held->redeliveries});
    if (alive.expired()) return false;
  }
  return true;
}

void SubscriptionSource::ack(std::uint64_t token, Done<void> done) {
  Held* held = holdings_.find(token);
  if (held == nullptr || held->acking) return done({});  // acked before
  held->acking = true;
  leases_.settle(token, now());
  const std::string ack_id = held->ack_id;
  sender_.ack(ack_id, guard_.wrap([this, token, ack_id, kept = std::move(done)](Result<void> result) mutable {
    acked(token, ack_id, std::move(result), std::move(kept));
  }));
}

void SubscriptionSource::acked(std::uint64_t token, const std::string& ack_id, Result<void> result,
                               Done<void> done) {
  Held* held = holdings_.find(token);
  if (held != nullptr && held->ack_id != ack_id) {  // delivered again while the ack was on its way
    held->acking = false;
    return ack(token, std::move(done));
  }
  drop(token);
  done(std::move(result));
}

void SubscriptionSource::well() {
  if (!std::exchange(in_trouble_, false)) return;
  if (context_->well) context_->well(options_.subscription);
}

void SubscriptionSource::drop(std::uint64_t token) {
  leases_.forget(token);
  holdings_.drop(token);
  post_look();
}

void SubscriptionSource::lapse(std::uint64_t token) {
  const Held* held = holdings_.find(token);
  if (held == nullptr || held->acking || held->lapsed) return;
  const std::string ack_id = held->ack_id;
  leases_.forget(token);
  sender_.modify(ack_id, seconds_away(holdings_.lapse(token)), {});
  post_look();
}

// Also while paused: what is here stays ours until its deadline.
void SubscriptionSource::tick() {
  const LeaseKeeper::Round round = leases_.round(now());
  for (const std::uint64_t token : round.extend) {
    if (const Held* held = holdings_.find(token)) sender_.modify(held->ack_id, leases_.lease_seconds(), {});
  }
  for (const std::uint64_t token : round.expired) holdings_.expire(token);
  const bool other_leases = told_seconds_ != leases_.lease_seconds();
  if (++ticks_ % kPingTicks == 0 || other_leases) {
    told_seconds_ = leases_.lease_seconds();
    for (Line& line : lines_) {
      if (line.stream != nullptr) line.stream->ping(told_seconds_);
    }
  }
  if (!round.expired.empty()) post_look();
  // Nothing may come for a long time: a stream that stays open is a good sign too.
  const auto stays = [this](const Line& line) {
    return line.stream != nullptr && now() - line.opened >= kStreamLived;
  };
  if (in_trouble_ && std::ranges::any_of(lines_, stays)) well();
  context_->executor.post_after(kLeaseTick, guard_.wrap([this] { tick(); }));
}

}  // namespace dripgate::broker::pubsub
