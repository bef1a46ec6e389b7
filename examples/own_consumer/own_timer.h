// OwnTimer: booked events by their slot, in one append-only file. An entry is there when `add` has returned
// (fdatasync), whatever is killed then.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <dripgate/scheduler.h>

#include "consumer.h"

class OwnTimer final : public Timer {
 public:
  struct Entry {
    dripgate::Ticket ticket;
    std::string payload;  // one line
  };

  /// Reads what an earlier process has left. Throws std::runtime_error where the file cannot be used.
  explicit OwnTimer(const std::string& path);
  ~OwnTimer() override;
  OwnTimer(const OwnTimer&) = delete;

  void add(const dripgate::Ticket& ticket, const std::string& payload) override;
  void remove(const dripgate::Ticket& ticket);
  /// The entry with the earliest slot; null: there is none.
  [[nodiscard]] const Entry* next() const;

 private:
  using Name = std::pair<std::string, std::uint32_t>;  // event id, generation
  static Name name_of(const dripgate::Ticket& ticket) { return {ticket.event_id, ticket.generation}; }
  void write(const std::string& line);
  void keep(Entry entry);
  void drop(const Name& name);

  int file_ = -1;
  std::map<Name, dripgate::TimePoint> slots_;
  std::multimap<dripgate::TimePoint, Entry> entries_;
};
