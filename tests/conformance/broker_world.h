// One broker backend under the broker behaviour lists (broker_*_test.cc): virtual time, and kills. A new
// backend derives from it and is added to all_brokers().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/timer.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

class BrokerWorld {
 public:
  virtual ~BrokerWorld() = default;
  [[nodiscard]] virtual std::unique_ptr<broker::Publisher> publisher(const std::string& topic) = 0;
  [[nodiscard]] virtual std::unique_ptr<broker::EventSource> source(const std::string& topic) = 0;
  [[nodiscard]] virtual std::unique_ptr<broker::Timer> timer(const std::string& stream) = 0;
  [[nodiscard]] virtual std::unique_ptr<broker::DeadLetters> dead_letters(const std::string& topic) = 0;
  /// A kill: what was confirmed stays, all memory is gone. Objects handed out must be gone before.
  virtual void restart() = 0;
  /// Runs everything due within the span of virtual time, with whatever the backend does between tasks.
  virtual void run_for(Duration span) = 0;

  /// A message that was out before a kill says so when it comes again.
  [[nodiscard]] virtual bool tells_who_had_it() const { return false; }

  void run_ready() { run_for(Duration{0}); }
  VirtualClock clock;
  SimExecutor executor{clock};
};

[[nodiscard]] inline broker::Message message(std::string id, std::string body = "",
                                             broker::Attributes attributes = {}) {
  return {std::move(id), std::move(body), std::move(attributes), {}};
}

struct BrokerBackend {
  std::string name;
  std::function<std::unique_ptr<BrokerWorld>()> make;
};

[[nodiscard]] std::vector<BrokerBackend> all_brokers();

}  // namespace dripgate::testing
