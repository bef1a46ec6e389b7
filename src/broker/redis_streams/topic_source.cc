// TopicSource: handing out, acks, lapses, leases. What it reads: topic_source_read.cc.
#include "broker/redis_streams/topic_source.h"

#include <algorithm>
#include <utility>

namespace dripgate::broker::redis_streams {
namespace {

/// Lease-keeping rounds between two looks for consumers to forget.
constexpr std::uint64_t kForgetRounds = 60;
/// Parts of a lane's pending list that one round looks through.
constexpr int kClaimLooksMax = 32;

}  // namespace

TopicSource::TopicSource(ContextPtr context, const std::string& topic)
    : context_(std::move(context)),
      listeners_(context_->wakeups.of(topic)),
      holdings_(context_->options.partitions) {
  for (std::size_t i = 0; i < context_->options.partitions; ++i) readers_.emplace_back(context_, topic, i);
  listeners_->push_back(this);
}

TopicSource::~TopicSource() {
  std::erase(*listeners_, this);
}

void TopicSource::start(FlowControl flow, Handler handler) {
  flow_ = flow;
  handler_ = std::make_shared<Handler>(std::move(handler));
  keep_round();
  wake();
}

void TopicSource::resume() {
  paused_ = false;
  wake();
}

void TopicSource::wake() {
  for (Reader& reader : readers_) {
    reader.fresh = true;
    reader.wait = Duration{0};
  }
  post_look();
}

void TopicSource::post_look() {
  if (look_posted_ || !is_pulling()) return;
  look_posted_ = true;
  context_->executor.post(guard_.wrap([this] { look(); }));
}

void TopicSource::look() {
  look_posted_ = false;
  if (!is_pulling() || !hand_out() || !is_pulling()) return;
  reread_ready();
  // Where room is short, another lane comes first each time.
  ++looks_;
  for (std::size_t i = 0; i < readers_.size(); ++i) read((looks_ + i) % readers_.size());
}

bool TopicSource::has_room(std::size_t bytes) const {
  if (leases_.claimed() == 0) return true;  // one message larger than the bound still passes
  return leases_.claimed() < flow_.max_outstanding_messages &&
         leases_.claimed_bytes() + bytes <= flow_.max_outstanding_bytes;
}

// False: the handler has ended this source.
bool TopicSource::hand_out() {
  const std::weak_ptr<char> alive = alive_;
  const std::shared_ptr<Handler> handler = handler_;
  while (!paused_ && !waiting_.empty() && has_room(waiting_.front().bytes)) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= next.bytes;
    const Holdings::Held* held = holdings_.find(next.token);
    if (held == nullptr || held->expired) continue;
    holdings_.renew(next.token);
    leases_.claim(static_cast<std::int64_t>(next.token), next.bytes);
    const int redeliveries = held->before + leases_.lapses(static_cast<std::int64_t>(next.token));
    (*handler)(Delivery{std::move(next.message), next.token, redeliveries});
    if (alive.expired()) return false;
  }
  return true;
}

void TopicSource::ack(std::uint64_t token, Done<void> done) {
  const Holdings::Held* held = holdings_.find(token);
  if (held == nullptr) return done({});  // acked before
  readers_[held->lane].lane.ack(
      held->id, guard_.wrap([this, token, kept = std::move(done)](Result<void> acked) mutable {
        if (acked) drop(token);
        kept(std::move(acked));
      }));
}

void TopicSource::drop(std::uint64_t token) {
  holdings_.drop(token);
  leases_.settle(static_cast<std::int64_t>(token));
  post_look();
}

void TopicSource::lapse(std::uint64_t token) {
  const auto row = static_cast<std::int64_t>(token);
  const std::optional<Duration> delay = leases_.lapse(row);
  if (!delay) return;
  holdings_.renew(token);
  context_->executor.post_after(*delay, guard_.wrap([this, row] {
    leases_.ready(row);
    post_look();
  }));
  post_look();
}

// Also while paused: what is out stays ours until its deadline.
void TopicSource::keep_round() {
  const auto deadline = context_->options.handling_deadline / kLeaseKeepInterval;
  const Holdings::Round round = holdings_.age(static_cast<int>(std::max<std::int64_t>(deadline, 1)));
  for (const std::uint64_t token : round.expired) leases_.settle(static_cast<std::int64_t>(token));
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    readers_[i].lane.keep(round.keep[i]);
    if (rounds_ % kForgetRounds == kForgetRounds - 1) readers_[i].lane.forget_consumers();
    if (is_pulling()) claim(i, kClaimLooksMax);
  }
  if (!round.expired.empty()) post_look();
  ++rounds_;
  context_->executor.post_after(kLeaseKeepInterval, guard_.wrap([this] { keep_round(); }));
}

}  // namespace dripgate::broker::redis_streams
