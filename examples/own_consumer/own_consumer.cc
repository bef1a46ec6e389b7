// The consumer with a timer that is a file: events as NDJSON on stdin.
//
//   own_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson
//
// An event: {"id":"pay_1","merchant":"m1"}, and whatever else it has. FOLDER/sink.log is what was delivered.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <poll.h>
#include <unistd.h>

#include "consumer.h"
#include "own_timer.h"

namespace {

dripgate::TimePoint now() {
  return std::chrono::time_point_cast<dripgate::Span>(std::chrono::system_clock::now());
}

void fire_due(Consumer& consumer, OwnTimer& timer) {
  while (const OwnTimer::Entry* due = timer.next()) {
    if (due->ticket.slot > now()) return;
    const OwnTimer::Entry entry = *due;
    consumer.fire(entry.ticket, entry.payload);
    timer.remove(entry.ticket);
  }
}

/// Milliseconds until the next entry is due; -1: there is none.
int wait_ms(const OwnTimer& timer) {
  const OwnTimer::Entry* next = timer.next();
  if (next == nullptr) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next->ticket.slot - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60'000));
}

/// Lines as they come, timers as they are due, until there is neither.
void run(Consumer& consumer, OwnTimer& timer) {
  std::string text;
  bool open = true;
  for (;;) {
    fire_due(consumer, timer);
    if (!open && timer.next() == nullptr) return;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, open ? 1 : 0, wait_ms(timer)) <= 0) continue;
    char piece[4096];
    const ssize_t count = ::read(STDIN_FILENO, piece, sizeof piece);
    open = count > 0;
    if (open) text.append(piece, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      consumer.take(text.substr(0, end));
      fire_due(consumer, timer);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4)
    return std::cerr << "usage: own_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson, "
                        "{\"id\":\"pay_1\",\"merchant\":\"m1\"} a line\n",
           2;
  try {
    const std::string folder = argv[1];
    OwnTimer timer(folder + "/timer.log");
    Consumer consumer(
        folder, dripgate::Limit::fixed(std::atoi(argv[2]), std::chrono::seconds{std::atoi(argv[3])}), timer);
    run(consumer, timer);
  } catch (const std::exception& error) {
    return std::cerr << "own_consumer: " << error.what() << '\n', 1;
  }
}
