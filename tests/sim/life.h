// Life: one run of the pipeline between two kills, with its decorated ports.
#pragma once

#include <functional>

#include "drip/pipeline.h"
#include "sim/faulty_ports.h"
#include "sim/ledger.h"
#include "sim/sim_sink.h"
#include "sim/world.h"

namespace dripgate::sim {

struct Life {
  Life(World::Ports ports, Executor& executor, Clock& clock, Dice& dice, Troubles troubles, Ledger& ledger,
       std::function<core::StreamPtr()> current, broker::FlowControl flow, drip::Observer& observer)
      : trouble(executor, dice, troubles),
        raw(ports),
        recorded(ports.store, ledger),
        store(recorded, trouble),
        source(ports.source, trouble),
        overflow(ports.overflow, trouble),
        overflow_source(ports.overflow_source, trouble),
        timer(ports.timer, trouble),
        letters(ports.dead_letters, trouble),
        pipeline(std::move(current),
                 drip::Ports{.executor = executor,
                             .clock = clock,
                             .store = store,
                             .source = source,
                             .overflow = overflow,
                             .overflow_source = overflow_source,
                             .timer = timer,
                             .dead_letters = letters,
                             .sink = ports.sink,
                             .flow = flow},
                 observer) {}

  Trouble trouble;
  World::Ports raw;
  RecordingStore recorded;
  FaultyStore store;
  FaultySource source;
  FaultyPublisher overflow;
  FaultySource overflow_source;
  FaultyTimer timer;
  FaultyLetters letters;
  drip::Pipeline pipeline;  // last: ends first
};

}  // namespace dripgate::sim
