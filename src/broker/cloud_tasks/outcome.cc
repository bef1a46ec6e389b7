// What an answer of Cloud Tasks means (facts: CreateTask is never repeated by official clients, because only
// a deterministic name makes that safe; ours has one).
#include "broker/cloud_tasks/tasks_api.h"

namespace dripgate::broker::cloud_tasks {

Outcome outcome_of(const CallStatus& status, bool proven) {
  switch (status.code) {
    case kOk:
    case kAlreadyExists:
      return Outcome::persisted;
    case kResourceExhausted:
      return Outcome::exhausted;
    case kInvalidArgument:
      return proven ? Outcome::refused : Outcome::wrong_setup;
    case kCancelled:
    case kUnknown:
    case kDeadlineExceeded:
    case kAborted:
    case kInternal:
    case kUnavailable:
      return Outcome::unknown;
    default:
      return Outcome::wrong_setup;
  }
}

Error error_of(Outcome outcome, const CallStatus& status, const std::string& queue) {
  const std::string what = "Cloud Tasks, " + queue + ": " + status.detail;
  switch (outcome) {
    case Outcome::refused:
      return {ErrorCode::invalid_argument, false, what};
    case Outcome::wrong_setup:
      return {ErrorCode::unavailable, false, what};
    case Outcome::exhausted:
      return {ErrorCode::unavailable, true, what};
    case Outcome::unknown:
    case Outcome::persisted:
      break;
  }
  return {ErrorCode::timed_out, true, what};
}

}  // namespace dripgate::broker::cloud_tasks
