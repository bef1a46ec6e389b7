// StreamTimer: looks, firings, sleeps.
#include <algorithm>
#include <utility>

#include "broker/redis_streams/entry_codec.h"
#include "broker/redis_streams/replies.h"
#include "broker/redis_streams/stream_timer.h"

namespace dripgate::broker::redis_streams {
namespace {

// Of a firing's reply (fire.lua): time, end of the lease, next time, then the entries.
constexpr std::size_t kHeadWords = 4;

}  // namespace

void StreamTimer::post_look() {
  if (look_posted_ || !is_firing()) return;
  look_posted_ = true;
  context_->executor.post(guard_.wrap([this] { look(); }));
}

void StreamTimer::look() {
  look_posted_ = false;
  if (!is_firing()) return;
  for (std::size_t i = 0; i < shelves_.size(); ++i) fire((last_token_ + i) % shelves_.size());
}

void StreamTimer::fire(std::size_t index) {
  Shelf& shelf = shelves_[index];
  if (shelf.asked > 0 || !shelf.hungry) return;
  const std::size_t taken = out_.size() + asked_;
  if (taken >= kFiringsOutstandingMax) return;
  shelf.asked = std::min(kFiringsOutstandingMax - taken, kFireBatch);
  shelf.hungry = false;
  asked_ += shelf.asked;
  const std::string count = std::to_string(shelf.asked);
  const std::string lease = std::to_string(kFiringLease.count());
  const std::string_view keys[] = {shelf.due_key, shelf.payload_key};
  const std::string_view arguments[] = {count, lease};
  context_->client.run(
      fire_script_, keys, arguments, context_->options.call_timeout,
      guard_.wrap([this, index](Result<redis::Reply> reply) { fired(index, std::move(reply)); }));
}

void StreamTimer::fired(std::size_t index, Result<redis::Reply> reply) {
  Shelf& shelf = shelves_[index];
  asked_ -= std::exchange(shelf.asked, 0);
  const auto* items = reply ? reply->items() : nullptr;
  if (items == nullptr || items->size() < kHeadWords) {
    return sleep(index, shelf.redis_now + kTimerLookInterval.count());
  }
  shelf.redis_now = time_at(*reply, 0);
  // As late as possible when nothing waits; at once when more is due.
  const std::string_view next = text_at(*reply, 3);
  const std::int64_t latest = shelf.redis_now + kTimerLookInterval.count();
  sleep(index, next.empty() ? latest : std::min(to_integer(next), latest));
  (void)hand_out(index, *reply);
}

// False: the handler has ended this timer.
bool StreamTimer::hand_out(std::size_t index, const redis::Reply& reply) {
  const std::weak_ptr<char> alive = alive_;
  const std::shared_ptr<Handler> handler = handler_;
  const std::string lease_end(text_at(reply, 2));
  const std::size_t size = reply.items()->size();
  for (std::size_t i = kHeadWords; i + 1 < size; i += 2) {
    Firing firing{.shelf = index, .id = std::string(text_at(reply, i)), .lease_end = lease_end};
    if (paused_) {
      defer(std::move(firing), Duration{0});
      continue;
    }
    auto entry = decode_entry(firing.id, text_at(reply, i + 1));
    // Not ours, or damaged: it fires as it is, for somebody to see.
    if (!entry) entry = TimerEntry{firing.id, from_us(shelves_[index].redis_now), {}};
    const std::uint64_t token = ++last_token_;
    out_.emplace(token, std::move(firing));
    (*handler)(FiredEntry{std::move(*entry), token});
    if (alive.expired()) return false;
  }
  return true;
}

// One look is posted ahead, for the earliest time asked for; an earlier one replaces it.
void StreamTimer::sleep(std::size_t index, std::int64_t until) {
  Shelf& shelf = shelves_[index];
  if (std::min(until, shelf.armed_for.value_or(until)) <= shelf.redis_now) {
    shelf.hungry = true;
    return post_look();
  }
  if (shelf.armed_for && *shelf.armed_for <= until) return;
  shelf.armed_for = until;
  const Duration delay = std::min(Duration{until - shelf.redis_now}, kTimerLookInterval);
  context_->executor.post_after(delay, guard_.wrap([this, index, number = ++shelf.arm_number] {
    Shelf& woken = shelves_[index];
    if (number != woken.arm_number) return;
    woken.armed_for.reset();
    woken.hungry = true;
    post_look();
  }));
}

}  // namespace dripgate::broker::redis_streams
