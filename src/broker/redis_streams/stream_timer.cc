// StreamTimer: entries in and out. When it looks and what it fires: stream_timer_look.cc.
#include "broker/redis_streams/stream_timer.h"

#include <algorithm>
#include <utility>

#include "broker/redis_streams/entry_codec.h"
#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/lua/texts.h"
#include "broker/redis_streams/replies.h"

namespace dripgate::broker::redis_streams {

StreamTimer::Shelf::Shelf(const ContextPtr& context, std::string due, std::string payload)
    : due_key(std::move(due)),
      payload_key(std::move(payload)),
      schedules(context, lua::schedule, {due_key, payload_key}),
      settles(context, lua::settle, {due_key, payload_key}) {}

StreamTimer::StreamTimer(ContextPtr context, const std::string& stream)
    : context_(std::move(context)),
      fire_script_(lua::fire),
      defer_script_(lua::defer),
      keep_script_(lua::keep),
      stats_script_(lua::timer_stats) {
  const Options& options = context_->options;
  for (std::size_t i = 0; i < options.partitions; ++i) {
    const std::string tag = partition_tag(stream, i);
    Shelf& shelf =
        shelves_.emplace_back(context_, due_key(options.prefix, tag), payload_key(options.prefix, tag));
    shelf.schedules.on_reply([&shelf](const redis::Reply& time) { shelf.redis_now = time_at(time, 0); });
  }
}

void StreamTimer::start(Handler handler) {
  handler_ = std::make_shared<Handler>(std::move(handler));
  post_look();
  keep_round();
}

void StreamTimer::resume() {
  paused_ = false;
  for (Shelf& shelf : shelves_) shelf.hungry = true;
  post_look();
}

void StreamTimer::schedule(TimerEntry entry, Done<void> done) {
  // Redis keeps times as doubles: exact below 2^53 us. What is due before 1970 is due.
  const std::int64_t due = std::max<std::int64_t>(to_us(entry.due), 0);
  if (due >= kExactIntegerMax)
    return done(fail(ErrorCode::invalid_argument, "a timer entry is due after the year 2255"));
  const std::size_t index = partition_of(entry.id, shelves_.size());
  ScriptQueue::Call call;
  call.arguments = {entry.id, std::to_string(due), encode_entry(entry)};
  call.done = guard_.wrap([this, index, due, kept = std::move(done)](Result<void> persisted) mutable {
    if (persisted && is_firing()) sleep(index, due);
    kept(std::move(persisted));
  });
  shelves_[index].schedules.add(std::move(call));
}

void StreamTimer::settle(std::uint64_t token, Done<void> done) {
  const auto found = out_.find(token);
  if (found == out_.end()) return done({});  // settled before
  ScriptQueue::Call call;
  call.arguments = {found->second.id};
  call.done = guard_.wrap([this, token, kept = std::move(done)](Result<void> settled) mutable {
    if (const auto firing = out_.find(token); settled && firing != out_.end()) {
      lapses_.erase(firing->second.id);
      out_.erase(firing);
      post_look();
    }
    kept(std::move(settled));
  });
  shelves_[found->second.shelf].settles.add(std::move(call));
}

void StreamTimer::lapse(std::uint64_t token) {
  auto firing = out_.extract(token);
  if (firing.empty()) return;
  const Duration delay = next_delay(firing.mapped().id);
  defer(std::move(firing.mapped()), delay);
  post_look();
}

// Counted in this process only: another one begins at the shortest delay again.
Duration StreamTimer::next_delay(const std::string& id) {
  if (lapses_.size() >= kLapsedMax) lapses_.clear();  // left behind by entries that others settled
  const int lapses = lapses_[id]++;
  Duration delay = kRedeliveryDelayMin;
  for (int i = 0; i < lapses && delay < kRedeliveryDelayMax; ++i) delay *= 2;
  return std::min(delay, kRedeliveryDelayMax);
}

// No answer is awaited: without it the entry fires at the end of its lease.
void StreamTimer::defer(Firing firing, Duration delay) {
  const std::string micros = std::to_string(delay.count());
  const std::string_view keys[] = {shelves_[firing.shelf].due_key};
  const std::string_view arguments[] = {firing.id, firing.lease_end, micros};
  context_->client.run(defer_script_, keys, arguments, context_->options.call_timeout,
                       [](const Result<redis::Reply>&) {});
}

/// The sum over all partitions.
struct StreamTimer::Count {
  std::size_t waiting = 0;
  TimerStats stats{};
  std::optional<Error> error{};
  Done<TimerStats> done;

  void add(const Result<redis::Reply>& reply) {
    if (!reply) {
      error = reply.error();
    } else if (const auto* items = reply->items(); items != nullptr && items->size() == 3) {
      const std::int64_t* count = items->front().integer();
      if (count != nullptr && *count > 0) {
        stats.pending += static_cast<std::uint64_t>(*count);
        const WallTime oldest = from_us(to_integer(text_at(*reply, 1)));
        const WallTime latest = from_us(to_integer(text_at(*reply, 2)));
        stats.oldest_due = std::min(stats.oldest_due.value_or(oldest), oldest);
        stats.latest_due = std::max(stats.latest_due.value_or(latest), latest);
      }
    }
    if (--waiting > 0) return;
    if (error) {
      done(std::unexpected(*error));
    } else {
      done(stats);
    }
  }
};

void StreamTimer::stats(Done<TimerStats> done) {
  auto count = std::make_shared<Count>(shelves_.size(), TimerStats{}, std::nullopt, std::move(done));
  for (const Shelf& shelf : shelves_) {
    const std::string_view keys[] = {shelf.due_key};
    context_->client.run(stats_script_, keys, {}, context_->options.call_timeout,
                         guard_.wrap([count](const Result<redis::Reply>& reply) { count->add(reply); }));
  }
}

}  // namespace dripgate::broker::redis_streams
