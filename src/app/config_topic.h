// ConfigTopic: an instance's side of hot reload by message. A message, or a number in Redis that has changed,
// asks for a look at the file; the outcome is reported to Redis. Messages may be lost: the number is looked
// at every kConfigPollEvery too. On the client's loop; single-threaded.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/config_report.h"
#include "base/guard.h"
#include "redis/client.h"

namespace dripgate::app {

class ConfigTopic {
 public:
  /// `asked`: a reload that this instance has not seen, by its number; also the number found at the start.
  /// `client` and `executor` outlive this.
  ConfigTopic(redis::Client& client, Executor& executor, const std::string& key_prefix, std::string instance,
              std::function<void(std::int64_t)> asked);

  void start();
  /// A message came: looks at the number.
  void look();
  /// Listening, for the first time or again, to a Redis that may have missed something, and we too.
  void listening();
  /// What this instance runs now. Written when it is new, and with every poll.
  void report(ConfigReport report);
  /// Takes the report back. `done` runs when Redis has heard it or did not answer; never if this is destroyed
  /// before.
  void leave(Task done);

  [[nodiscard]] const std::string& channel() const { return keys_.reload; }

 private:
  void poll();
  void heard(const Result<redis::Reply>& reply);
  void write();
  void send(std::string_view text, std::function<void(Result<redis::Reply>)> done);

  redis::Client& client_;
  Executor& executor_;
  const ConfigKeys keys_;
  const std::string instance_;
  const std::function<void(std::int64_t)> asked_;
  std::optional<std::int64_t> number_;  // the last one seen
  std::string text_;                    // of the report; empty: none yet
  bool running_ = false;
  Guard guard_;  // last
};

}  // namespace dripgate::app
