#include "own_timer.h"

#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

// "+<ticket>\t<payload>" or "-<ticket>" a line; a line that a crash has cut short was never confirmed.
OwnTimer::OwnTimer(const std::string& path) {
  std::ifstream before(path);
  std::string line;
  while (std::getline(before, line) && !before.eof()) {
    const std::size_t tab = line.find('\t');
    const auto ticket = dripgate::Ticket::from_text(line.substr(1, tab == std::string::npos ? tab : tab - 1));
    if (!ticket) throw std::runtime_error(path + ": " + ticket.error().detail);
    if (line[0] == '+') keep({*ticket, line.substr(tab + 1)});
    if (line[0] == '-') drop(name_of(*ticket));
  }
  // Written anew: without what is over, and without a line that was cut short.
  const std::string fresh = path + ".new";
  file_ = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  if (file_ < 0) throw std::runtime_error(fresh + " cannot be written");
  std::string all;
  for (const auto& [slot, entry] : entries_)
    all += "+" + entry.ticket.to_text() + "\t" + entry.payload + "\n";
  write(all);
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw std::runtime_error(path + " cannot be replaced");
}

OwnTimer::~OwnTimer() {
  ::close(file_);
}

void OwnTimer::add(const dripgate::Ticket& ticket, const std::string& payload) {
  if (slots_.contains(name_of(ticket))) return;
  write("+" + ticket.to_text() + "\t" + payload + "\n");
  keep({ticket, payload});
}

void OwnTimer::remove(const dripgate::Ticket& ticket) {
  write("-" + ticket.to_text() + "\n");
  drop(name_of(ticket));
}

const OwnTimer::Entry* OwnTimer::next() const {
  return entries_.empty() ? nullptr : &entries_.begin()->second;
}

void OwnTimer::write(const std::string& line) {
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fdatasync(file_) != 0)
    throw std::runtime_error("the timer's file cannot be written");
}

void OwnTimer::keep(Entry entry) {
  const Name name = name_of(entry.ticket);
  if (!slots_.emplace(name, entry.ticket.slot).second) return;
  entries_.emplace(entry.ticket.slot, std::move(entry));
}

void OwnTimer::drop(const Name& name) {
  const auto slot = slots_.find(name);
  if (slot == slots_.end()) return;
  const auto [first, last] = entries_.equal_range(slot->second);
  for (auto at = first; at != last; ++at) {
    if (name_of(at->second.ticket) != name) continue;
    entries_.erase(at);
    break;
  }
  slots_.erase(slot);
}
