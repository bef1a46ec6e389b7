// See the header.
#include "core/breaker.h"

#include <algorithm>

namespace dripgate::core {

Breaker::Breaker(BreakerSettings settings) : settings_(settings) {
  settings_.failures_min = std::max(2, settings_.failures_min);
}

std::optional<Breaker::Permit> Breaker::admit(MonoTime now) {
  if (closed_) return Permit{.era = era_};
  if (now < retry_at_ || probing(now)) return std::nullopt;
  probe_started_ = now;
  return Permit{.era = era_, .probe = ++probes_};
}

void Breaker::succeeded(const Permit& permit, MonoTime now) {
  if (permit.era != era_) return;
  if (closed_) {
    roll(now);
    ++current_.calls;
    streak_ = 0;
  } else if (permit.probe == probes_) {
    close();
  }
}

void Breaker::failed(const Permit& permit, MonoTime now) {
  if (permit.era != era_) return;
  if (!closed_) {
    if (permit.probe == probes_) open(now, std::min(pause_ * 2, settings_.pause_max));
    return;
  }
  roll(now);
  ++current_.calls;
  ++current_.failures;
  extend_streak(now);
  if (too_many(now)) open(now, settings_.pause);
}

bool Breaker::too_many(MonoTime now) const {
  if (streak_ >= settings_.failures_min && now - streak_started_ >= settings_.streak_span) return true;
  const std::int64_t calls = std::int64_t{older_.calls} + current_.calls;
  const std::int64_t failures = std::int64_t{older_.failures} + current_.failures;
  return failures >= settings_.failures_min && failures * 100 >= calls * settings_.failure_percent;
}

void Breaker::extend_streak(MonoTime now) {
  if (now - streak_started_ > settings_.window) streak_ = 0;
  if (streak_++ == 0) streak_started_ = now;
}

MonoTime Breaker::retry_at() const {
  return probe_started_ ? *probe_started_ + settings_.probe_timeout : retry_at_;
}

Breaker::State Breaker::state(MonoTime now) const {
  if (closed_) return State::closed;
  return now < retry_at_ ? State::open : State::half_open;
}

/// The window is the current half and the one before it: between one half and a whole of it is looked at.
void Breaker::roll(MonoTime now) {
  const Duration half = settings_.window / 2;
  if (now - half_started_ < half) return;
  older_ = now - half_started_ < 2 * half ? current_ : Tally{};
  current_ = {};
  half_started_ = now;
}

void Breaker::open(MonoTime now, Duration pause) {
  if (closed_) ++era_;
  closed_ = false;
  pause_ = pause;
  retry_at_ = now + pause;
  probe_started_.reset();
}

void Breaker::close() {
  closed_ = true;
  ++era_;
  older_ = current_ = {};
  streak_ = 0;
  probe_started_.reset();
}

bool Breaker::probing(MonoTime now) const {
  return probe_started_ && now - *probe_started_ < settings_.probe_timeout;
}

}  // namespace dripgate::core
