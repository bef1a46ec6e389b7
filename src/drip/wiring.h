// Wiring: what the parts of one pipeline share. Made by pipeline.cc, outlives every part. On the executor.
#pragma once

#include <functional>

#include "drip/acks.h"
#include "drip/brake.h"
#include "drip/json_payload.h"
#include "drip/observer.h"
#include "drip/pipeline.h"
#include "drip/port_calls.h"
#include "drip/pulling.h"

namespace dripgate::drip {

struct Wiring {
  Wiring(std::function<core::StreamPtr()> stream_now, Ports all_ports, Observer& told)
      : current(std::move(stream_now)),
        ports(all_ports),
        observer(told),
        pulling(ports),
        acks(ports, observer),
        brake(
            ports.executor, [this](PortName port, Done<void> done) { probe(port, std::move(done)); },
            [this] { pulling.hold(brake.held()); }),
        calls(ports.executor, brake, observer) {}

  /// Asks a failing port something harmless.
  void probe(PortName port, Done<void> done);

  std::function<core::StreamPtr()> current;
  Ports ports;
  Observer& observer;
  Pulling pulling;
  Acks acks;
  Brake brake;
  PortCalls calls;
  JsonPayload json;
};

/// The verdict of an event that came from the source; once per chain.
void tell(Wiring& wiring, const EventPtr& event, EventVerdict::Kind kind, std::string_view reason = {});

}  // namespace dripgate::drip
