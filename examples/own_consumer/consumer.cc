#include "consumer.h"

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace {

using dripgate::GateVerdict;
using dripgate::ReserveVerdict;

template <class T>
T must(dripgate::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().detail);
  return *std::move(result);
}

/// What a task of Cloud Tasks holds beside its ticket.
constexpr std::size_t kLineBytesMax = 90'000;

bool has_text(const nlohmann::json& event, const char* name) {
  return event.is_object() && event.contains(name) && event.at(name).is_string();
}

void refuse(std::string_view why, const std::string& payload) {
  std::cerr << "dead letter (" << why << "): " << payload << '\n';
}

}  // namespace

Consumer::Consumer(const std::string& folder, dripgate::Limit limit, Timer& timer)
    : scheduler_(
          must(dripgate::Scheduler::open({.stream = "payouts",
                                          .limits = {limit},
                                          // Cloud Tasks keeps the name of a task taken for up to a day.
                                          .id_retention = std::chrono::hours{25},
                                          .store = must(dripgate::Store::sqlite(folder + "/bookings.db"))}))),
      timer_(timer),
      sink_(folder + "/sink.log", std::ios::app) {}

void Consumer::take(const std::string& line) {
  const auto event = nlohmann::json::parse(line, nullptr, false);
  if (!has_text(event, "id") || !has_text(event, "merchant"))
    return refuse("an event is {\"id\":\"pay_1\",\"merchant\":\"m1\"}", line);
  if (line.size() > kLineBytesMax) return refuse("too large", line);
  auto answer = scheduler_.reserve({.event_id = event.at("id"), .key = event.at("merchant"), .body = line});
  // Such an event never becomes a better one.
  if (!answer && answer.error().code == dripgate::ErrorCode::invalid_argument)
    return refuse(answer.error().detail, line);
  const auto told = must(std::move(answer));
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
      return refuse("no slot within its horizon, or its id has another body", line);
  }
}

void Consumer::fire(const dripgate::Ticket& ticket, const std::string& payload) {
  const auto told = must(scheduler_.gate(ticket));
  switch (told.verdict) {
    case GateVerdict::go:
      return deliver(told.ticket, told.slot);
    case GateVerdict::rebook:
      return timer_.add(told.ticket, payload);
    case GateVerdict::duplicate:
      return;
    case GateVerdict::beyond_horizon:
    case GateVerdict::impossible:
      return refuse("no slot within its horizon", payload);
  }
}

// A line of sink.log: the moment of release (us), the merchant, the event id.
void Consumer::deliver(const dripgate::Ticket& ticket, dripgate::TimePoint released) {
  {
    const std::scoped_lock lock(mutex_);
    sink_ << released.time_since_epoch().count() << ' ' << ticket.key << ' ' << ticket.event_id << std::endl;
    if (!sink_) throw std::runtime_error("the sink cannot be written");
  }
  must(scheduler_.done(ticket));
}
