// FakeBroker: topics, timers and dead letters in memory that behave like an external service: what is stored
// survives the ports, so a test can end a pipeline with its ports (a kill) and build it again. Leases end
// with the port that took them. One thread, on one executor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/limits.h"
#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/timer.h"

namespace dripgate::testing {

/// A delivery or firing that was given up comes again after this.
inline constexpr Duration kFakeRedeliveryDelay = 5s;

struct FakeTopic {
  struct Stored {
    broker::Message message;
    int deliveries = 0;
    bool out = false;
    bool waiting = false;  // given up, not due again yet
  };
  std::map<std::uint64_t, Stored> messages;  // by sequence, also the token
  std::set<std::string> ids;                 // ever taken: an id is one message
  std::uint64_t next = 1;
  std::set<std::function<void()>*> listeners;
};

struct FakeTimerQueue {
  struct Stored {
    broker::TimerEntry entry;
    bool out = false;
    bool waiting = false;
  };
  std::map<std::uint64_t, Stored> entries;
  std::map<std::string, std::uint64_t> ids;  // of entries that are there
  std::uint64_t next = 1;
};

struct FakeLetters {
  std::map<std::uint64_t, broker::DeadLetter> letters;
  std::set<std::tuple<std::string, std::uint32_t, std::string>> ids;  // event id, generation, body
  std::uint64_t next = 1;
};

class FakeBroker {
 public:
  FakeBroker(Executor& executor, Clock& clock) : executor_(executor), clock_(clock) {}

  [[nodiscard]] std::unique_ptr<broker::Publisher> publisher(const std::string& topic);
  [[nodiscard]] std::unique_ptr<broker::EventSource> source(const std::string& topic);
  [[nodiscard]] std::unique_ptr<broker::Timer> timer(const std::string& stream);
  [[nodiscard]] std::unique_ptr<broker::DeadLetters> dead_letters(const std::string& topic);

  [[nodiscard]] FakeTopic& topic(const std::string& name) { return topics_[name]; }
  [[nodiscard]] FakeTimerQueue& timers(const std::string& stream) { return timers_[stream]; }
  [[nodiscard]] FakeLetters& letters(const std::string& topic) { return letters_[topic]; }

 private:
  Executor& executor_;
  Clock& clock_;
  std::map<std::string, FakeTopic> topics_;
  std::map<std::string, FakeTimerQueue> timers_;
  std::map<std::string, FakeLetters> letters_;
};

}  // namespace dripgate::testing
