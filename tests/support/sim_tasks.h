// SimTasks: Cloud Tasks on virtual time, behind the product's TasksApi: named tasks, names that stay taken,
// delivery with retries, a whole queue that slows down. It survives what uses it: a test ends a timer (a
// kill) and connects another. Faults are hooks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "broker/cloud_tasks/tasks_api.h"
#include "broker/pushed_timer.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

class SimTasks final : public broker::cloud_tasks::TasksApi {
 public:
  using Task = broker::cloud_tasks::Task;
  using CallStatus = broker::cloud_tasks::CallStatus;
  static constexpr Duration kRetryMin = std::chrono::milliseconds{100};
  static constexpr Duration kRetryMax = std::chrono::hours{1};
  static constexpr Duration kSlowDown = std::chrono::seconds{10};  // of a queue that was told 503

  SimTasks(SimExecutor& executor, VirtualClock& clock) : executor_(executor), clock_(clock) {}

  void create(const Task& task, Answer done) override;
  void look(const std::string& queue, Answer done) override;

  /// Where tasks that are due are sent, those that waited too; null: nobody listens, they are tried again.
  void connect(broker::PushedTimer* timer);

  /// Asked before anything is stored; an answer is given in its place.
  std::function<std::optional<CallStatus>(const Task&)> refuse;
  /// Stored, but the answer is lost: DEADLINE_EXCEEDED after the call's deadline.
  std::function<bool(const Task&)> lose_reply;
  /// How much later than due a task is sent; less than zero: earlier.
  std::function<Duration(const Task&)> late;
  /// Sent twice at once.
  std::function<bool(const Task&)> twice;

  struct Stored {
    Task task;
    int attempts = 0;
    std::uint64_t number = 0;  // of the attempt that counts
  };
  std::map<std::string, Stored> tasks;  // by name
  std::set<std::string> taken;          // names ever used
  std::uint64_t creates = 0;            // calls
  std::uint64_t sent = 0;               // attempts that reached somebody
  int slowed = 0;                       // 503s

 private:
  struct Attempt;

  void send_after(Duration wait, const std::string& name);
  void send(const std::string& name, std::uint64_t number);
  void deliver(const std::string& name, std::uint64_t number);
  void answered(const std::string& name, std::uint64_t number, std::optional<broker::Receipt> receipt);

  SimExecutor& executor_;
  VirtualClock& clock_;
  broker::PushedTimer* timer_ = nullptr;
  std::map<std::string, WallTime> slow_until_;  // by queue
};

}  // namespace dripgate::testing
