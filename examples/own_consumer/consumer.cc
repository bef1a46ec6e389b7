// A consumer of its own: events as NDJSON on stdin ({"id":"pay_1","merchant":"m1",…}), a sink that is a file,
// a timer that is another file, and Dripgate's scheduler between them. What is in-limit goes to the sink at
// once; the rest is booked, kept in the timer, and goes when the gate says so. Killed at any instant and fed
// the same events again, nothing is lost, nothing exceeds the limit, duplicates carry the same id.
//
//   own_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson
//
// Every line of FOLDER/sink.log is one delivery: the moment of release (us), the merchant, the event id.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <dripgate/scheduler.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "own_timer.h"

namespace {

using dripgate::GateVerdict;
using dripgate::ReserveVerdict;
using dripgate::Ticket;

template <class T>
T must(dripgate::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().detail);
  return *std::move(result);
}

dripgate::TimePoint now() {
  return std::chrono::time_point_cast<dripgate::Span>(std::chrono::system_clock::now());
}

class Consumer {
 public:
  Consumer(const std::string& folder, dripgate::Limit limit)
      : scheduler_(must(
            dripgate::Scheduler::open({.stream = "payouts",
                                       .limits = {limit},
                                       .store = must(dripgate::Store::sqlite(folder + "/bookings.db"))}))),
        timer_(folder + "/timer.log"),
        sink_(folder + "/sink.log", std::ios::app) {}

  /// Returns once the event is delivered, or kept by the timer, or refused: now its queue may forget it.
  void take(const std::string& line) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object() || !event.contains("id") || !event.contains("merchant")) return refuse(line);
    const auto told =
        must(scheduler_.reserve({.event_id = event.at("id"), .key = event.at("merchant"), .body = line}));
    switch (told.verdict) {
      case ReserveVerdict::now:
        return deliver(told.ticket, told.slot);
      case ReserveVerdict::at:
        return timer_.add(told.ticket, line);
      case ReserveVerdict::duplicate:
        return;
      case ReserveVerdict::beyond_horizon:
      case ReserveVerdict::impossible:
      case ReserveVerdict::conflict:
        return refuse(line);
    }
  }

  /// Fires what is due.
  void fire() {
    while (const OwnTimer::Entry* due = timer_.next()) {
      if (due->ticket.slot > now()) return;
      const OwnTimer::Entry entry = *due;
      const auto told = must(scheduler_.gate(entry.ticket));
      if (told.verdict == GateVerdict::go) deliver(told.ticket, told.slot);
      if (told.verdict == GateVerdict::rebook) timer_.add(told.ticket, entry.payload);
      if (told.verdict == GateVerdict::beyond_horizon || told.verdict == GateVerdict::impossible)
        refuse(entry.payload);
      timer_.remove(entry.ticket);
    }
  }

  /// Milliseconds until the next entry is due; -1: there is none.
  int wait_ms() const {
    const OwnTimer::Entry* next = timer_.next();
    if (next == nullptr) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next->ticket.slot - now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
  }

 private:
  static void refuse(const std::string& line) { std::cerr << "dead letter: " << line << '\n'; }

  void deliver(const Ticket& ticket, dripgate::TimePoint released) {
    sink_ << released.time_since_epoch().count() << ' ' << ticket.key << ' ' << ticket.event_id << std::endl;
    must(scheduler_.done(ticket));
  }

  dripgate::Scheduler scheduler_;
  OwnTimer timer_;
  std::ofstream sink_;
};

/// Lines as they come, timers as they are due, until there is neither.
void run(Consumer& consumer) {
  std::string text;
  bool open = true;
  while (open || consumer.wait_ms() >= 0) {
    consumer.fire();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, open ? 1 : 0, consumer.wait_ms()) <= 0) continue;
    char piece[4096];
    const ssize_t count = ::read(STDIN_FILENO, piece, sizeof piece);
    open = count > 0;
    if (open) text.append(piece, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      consumer.take(text.substr(0, end));
      consumer.fire();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "usage: own_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson\n", 2;
  try {
    const std::chrono::seconds window{std::atoi(argv[3])};
    Consumer consumer(argv[1], dripgate::Limit::fixed(std::atoi(argv[2]), window));
    run(consumer);
  } catch (const std::exception& error) {
    return std::cerr << "own_consumer: " << error.what() << '\n', 1;
  }
}
