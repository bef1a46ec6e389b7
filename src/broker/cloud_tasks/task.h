// Task: a timer entry as Cloud Tasks keeps and sends it, and back. The body is the message's, byte for byte;
// attributes travel as headers. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cloud_tasks.h"
#include "base/result.h"
#include "broker/timer.h"

namespace dripgate::broker::cloud_tasks {

using namespace std::chrono_literals;

/// One attempt of the dispatcher; after it the task is sent again.
inline constexpr Duration kDispatchDeadline = 60s;
/// Of all headers of a task: below the 80 KB of the service, with room for its own.
inline constexpr std::size_t kTaskHeaderBytesMax = 64u << 10;

struct Options {
  std::string project;
  std::string location;             // "asia-south1"
  std::vector<std::string> queues;  // ids; entries are spread over them
  std::string target;               // the URL that the tasks are sent to
  std::string service_account;      // whose identity token a task carries ...
  std::string audience;             // ... and for whom it is
  std::size_t task_bytes_max = kTaskBytesDefault;
  bool claim_check = true;  // of what is too large from now on; what lies in the claims is found in any case
};

struct Task {
  std::string queue;  // "projects/p/locations/l/queues/q"
  std::string id;     // deterministic; starts with a hash, as the service wants it
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  WallTime due;
  std::string service_account;
  std::string audience;

  [[nodiscard]] std::string name() const { return queue + "/tasks/" + id; }
};

[[nodiscard]] std::string queue_name(const Options& options, std::size_t index);
/// Always the same queue for the same entry.
[[nodiscard]] std::size_t queue_of(std::string_view entry_id, std::size_t queues);
/// An entry id of the drip is one already (hash, then generation); any other is hashed.
[[nodiscard]] std::string task_id(std::string_view entry_id);
/// An upper bound of what the service counts.
[[nodiscard]] std::size_t bytes_of(const Task& task);

/// What is due beyond kTaskAheadMax is sent at that time and asks the gate, which books the same slot again.
/// Errors: too_large, with the size and the bound.
[[nodiscard]] Result<Task> make_task(const Options& options, TimerEntry entry, WallTime now);

/// The headers of a request that a task has made: `headers` are those that the dispatcher received, names in
/// any case. What is damaged is left out: the entry then is none that the drip understands, and is kept as a
/// dead letter.
[[nodiscard]] TimerEntry read_task(const std::vector<std::pair<std::string, std::string>>& headers,
                                   std::string body);

}  // namespace dripgate::broker::cloud_tasks
