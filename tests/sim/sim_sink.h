// SimSink: the endpoint at the end of the stream, with its moods, and everything it has seen. Survives kills;
// answers that are on their way do not.
#pragma once

#include <map>
#include <set>
#include <string>

#include "broker/sink.h"
#include "sim/faulty_ports.h"
#include "sim/ledger.h"

namespace dripgate::sim {

/// What the sink knows of one event id.
struct Seen {
  int received = 0;
  int confirmed = 0;           // the pipeline was told
  int refused_to_confirm = 0;  // told to try again, to wait, or that the window had passed
  std::map<std::string, std::set<std::string>> attempts_of_release;  // dripgate-released -> dripgate-attempt
};

class SimSink final : public broker::Sink {
 public:
  SimSink(const Plan& plan, Clock& clock, Ledger& ledger) : plan_(plan), clock_(clock), ledger_(ledger) {}

  /// Another life of the pipeline.
  void set_trouble(Trouble* trouble) { trouble_ = trouble; }
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

  [[nodiscard]] const Seen& seen(const std::string& event_id) { return seen_[event_id]; }

 private:
  broker::SinkAnswer serve(const broker::Outgoing& outgoing);
  void receive(const broker::Message& message);

  const Plan& plan_;
  Clock& clock_;
  Ledger& ledger_;
  Trouble* trouble_ = nullptr;
  std::map<std::string, Seen> seen_;
};

}  // namespace dripgate::sim
