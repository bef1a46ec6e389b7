// TasksApi: the two calls of Cloud Tasks that are needed, without a gRPC type; and what their outcomes mean.
// Every call has a deadline. Used by the lanes; made by make_tasks_api.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "broker/cloud_tasks/task.h"

namespace grpc {
class Channel;
}

namespace dripgate::broker::cloud_tasks {

/// After it the outcome is unknown.
inline constexpr Duration kCallDeadline = 10s;

/// A status as gRPC numbers it; 0 is success.
struct CallStatus {
  int code = 0;
  std::string detail;
};
inline constexpr int kOk = 0;
inline constexpr int kCancelled = 1;
inline constexpr int kUnknown = 2;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kAlreadyExists = 6;
inline constexpr int kPermissionDenied = 7;
inline constexpr int kResourceExhausted = 8;
inline constexpr int kFailedPrecondition = 9;
inline constexpr int kAborted = 10;
inline constexpr int kInternal = 13;
inline constexpr int kUnavailable = 14;
inline constexpr int kUnauthenticated = 16;

enum class Outcome : std::uint8_t {
  persisted,   // it is there, by this call or by an earlier one
  unknown,     // it may be there: the same name again
  exhausted,   // over a quota: later
  refused,     // this task is at fault
  wrong_setup  // queue, account or rights are: nothing can be created until somebody mends it
};

/// `proven`: this queue has taken a task of ours before, so INVALID_ARGUMENT is about this task and not about
/// the target, account or audience that all of them share. Pure.
[[nodiscard]] Outcome outcome_of(const CallStatus& status, bool proven);
/// The error that the drip hears: transient unless the task itself is at fault. Not for persisted.
[[nodiscard]] Error error_of(Outcome outcome, const CallStatus& status, const std::string& queue);

class TasksApi {
 public:
  using Answer = std::move_only_function<void(CallStatus)>;

  virtual ~TasksApi() = default;
  /// `done` runs on the executor, maybe inside the call.
  virtual void create(const Task& task, Answer done) = 0;
  /// Is the queue there and reachable?
  virtual void look(const std::string& queue, Answer done) = 0;
};

/// Over a channel of broker/gcp. The executor outlives the api. Calls still open at its end are cancelled and
/// waited for; their answers are not given.
[[nodiscard]] std::unique_ptr<TasksApi> make_tasks_api(std::shared_ptr<grpc::Channel> channel,
                                                       Executor& executor);

}  // namespace dripgate::broker::cloud_tasks
