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
  const std::int64_t calls = older_.calls + current_.calls;
  const std::int64_t failures = older_.failures + current_.failures;
  if (failures >= settings_.failures_min && failures * 100 >= calls * settings_.failure_percent)
    open(now, settings_.pause);
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
  probe_started_.reset();
}

bool Breaker::probing(MonoTime now) const {
  return probe_started_ && now - *probe_started_ < settings_.probe_timeout;
}

}  // namespace dripgate::core
