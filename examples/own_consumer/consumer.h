// Consumer: takes events, hands on what is in-limit, books the rest with Dripgate's scheduler and leaves it
// to a timer. Killed at any instant and fed the same events again, nothing is lost, nothing exceeds the
// limit, duplicates carry the same id.
#pragma once

#include <fstream>
#include <mutex>
#include <string>

#include <dripgate/scheduler.h>

/// Yours may be Cloud Tasks, a table, a sorted set.
class Timer {
 public:
  virtual ~Timer() = default;
  /// Returns once the entry outlives this process. The same booking again is no second entry.
  virtual void add(const dripgate::Ticket& ticket, const std::string& payload) = 0;
};

/// Throws std::runtime_error where the store, the timer or the sink fail: what was not taken comes again.
/// Thread-safe.
class Consumer {
 public:
  /// `folder` keeps the bookings and sink.log; the timer stays the caller's.
  Consumer(const std::string& folder, dripgate::Limit limit, Timer& timer);

  /// Returns once the event {"id":"pay_1","merchant":"m1",…} is delivered, or kept by the timer, or refused:
  /// now its queue may forget it.
  void take(const std::string& line);
  /// When the ticket's slot has come. Returns once the timer may forget it.
  void fire(const dripgate::Ticket& ticket, const std::string& payload);

 private:
  void deliver(const dripgate::Ticket& ticket, dripgate::TimePoint released);

  dripgate::Scheduler scheduler_;
  Timer& timer_;
  std::mutex mutex_;  // of the sink
  std::ofstream sink_;
};
