// Brake: which ports are failing, and when to look again. While one is, pulling stops (pulling.h): nothing is
// acked, what is out lapses, and a read-only probe with growing waits tells when it is back. Bounded: one
// probe in flight per port. On the executor.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/guard.h"
#include "base/result.h"
#include "base/time.h"

namespace dripgate::drip {

using namespace std::chrono_literals;

/// First wait before a failing port is probed; doubles while it keeps failing.
inline constexpr Duration kProbeWaitMin = 100ms;
inline constexpr Duration kProbeWaitMax = 30s;

enum class PortName : std::uint8_t { store, timer, overflow, dead_letters };
inline constexpr std::size_t kPorts = 4;
[[nodiscard]] std::string_view to_string(PortName port);

class Brake {
 public:
  using Probe = std::function<void(PortName, Done<void>)>;

  /// `changed` runs whenever held() has changed.
  Brake(Executor& executor, Probe probe, std::function<void()> changed)
      : executor_(executor), probe_(std::move(probe)), changed_(std::move(changed)) {}

  void failed(PortName port, Error error);
  void succeeded(PortName port);

  [[nodiscard]] bool held() const { return failing_ > 0; }
  [[nodiscard]] bool held(PortName port) const { return at(port).error.has_value(); }
  /// Of a port that fails now.
  [[nodiscard]] std::optional<Error> last_error() const;

 private:
  struct State {
    std::optional<Error> error;  // set: failing
    Duration wait = kProbeWaitMin;
    bool probing = false;
  };

  State& at(PortName port) { return states_[static_cast<std::size_t>(port)]; }
  [[nodiscard]] const State& at(PortName port) const { return states_[static_cast<std::size_t>(port)]; }
  void probe_later(PortName port);
  void lift(PortName port);

  Executor& executor_;
  Probe probe_;
  std::function<void()> changed_;
  std::array<State, kPorts> states_;
  int failing_ = 0;
  Guard guard_;
};

}  // namespace dripgate::drip
