// CloudTimer: a task in Google Cloud Tasks per booking, which comes back as an HTTP request when its slot
// does.
#pragma once

#include <memory>
#include <string>

#include "consumer.h"

/// The header of a task that carries its ticket.
inline constexpr const char* kTicketHeader = "X-Ticket";

struct CloudTimerOptions {
  std::string queue;    // projects/P/locations/L/queues/Q
  std::string target;   // where tasks go: the URL of this consumer
  std::string account;  // the service account whose identity token a task carries, for `target` as audience
  /// host:port of an emulator, without TLS; empty: Google's, with application default credentials.
  std::string emulator;
};

class CloudTimer final : public Timer {
 public:
  explicit CloudTimer(CloudTimerOptions options);
  ~CloudTimer() override;

  /// Asks again under the same name while the outcome is unknown: a task that exists is no second one.
  void add(const dripgate::Ticket& ticket, const std::string& payload) override;

 private:
  struct Api;
  CloudTimerOptions options_;
  std::unique_ptr<Api> api_;
};
