#include "drip/brake.h"

#include <algorithm>
#include <utility>

namespace dripgate::drip {

std::string_view to_string(PortName port) {
  constexpr std::array<std::string_view, kPorts> kNames{"store", "timer", "overflow", "dead_letters"};
  return kNames[static_cast<std::size_t>(port)];
}

void Brake::failed(PortName port, Error error) {
  State& state = at(port);
  const bool first = !state.error;
  state.error = std::move(error);
  if (first && failing_++ == 0) changed_();
  if (!state.probing) probe_later(port);
}

void Brake::succeeded(PortName port) {
  at(port).wait = kProbeWaitMin;
  lift(port);
}

std::optional<Error> Brake::last_error() const {
  for (const State& state : states_) {
    if (state.error) return state.error;
  }
  return {};
}

void Brake::probe_later(PortName port) {
  State& state = at(port);
  state.probing = true;
  const Duration wait = state.wait;
  // A good probe only reads: the wait shrinks again when real work succeeds.
  state.wait = std::min(state.wait * 2, kProbeWaitMax);
  executor_.post_after(wait, guard_.wrap([this, port] {
    if (!at(port).error) {
      at(port).probing = false;
      return;
    }
    probe_(port, guard_.wrap([this, port](Result<void> answer) {
      at(port).probing = false;
      if (answer) return lift(port);
      at(port).error = answer.error();
      probe_later(port);
    }));
  }));
}

void Brake::lift(PortName port) {
  State& state = at(port);
  if (!state.error) return;
  state.error.reset();
  if (--failing_ == 0) changed_();
}

}  // namespace dripgate::drip
