#include "broker/pubsub/failure.h"

#include <algorithm>
#include <array>

namespace dripgate::broker::pubsub {
namespace {

constexpr std::array<std::string_view, 17> kNames{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Exactly-once: what the service writes beside an ack id.
constexpr std::string_view kTransientPrefix = "TRANSIENT_";
// An INTERNAL that no repeat mends.
constexpr std::string_view kBadText = "string field contains invalid UTF-8";

template <std::size_t N>
bool is_one_of(Status status, const std::array<Status, N>& list) {
  return std::ranges::find(list, status) != list.end();
}

constexpr std::array kPublishAgain{Status::cancelled,          Status::unknown, Status::deadline_exceeded,
                                   Status::resource_exhausted, Status::aborted, Status::internal,
                                   Status::unavailable};
constexpr std::array kAckAgain{Status::deadline_exceeded, Status::resource_exhausted, Status::aborted,
                               Status::internal, Status::unavailable};
constexpr std::array kOperators{Status::invalid_argument,    Status::not_found,     Status::permission_denied,
                                Status::failed_precondition, Status::unimplemented, Status::unauthenticated};

}  // namespace

std::string_view to_string(Status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

Error to_error(const Failure& failure, std::string_view what) {
  std::string detail = std::string(what) + ": " + std::string(to_string(failure.status));
  if (!failure.text.empty()) detail += " (" + failure.text + ")";
  switch (failure.status) {
    case Status::invalid_argument:
    case Status::out_of_range:
      return {ErrorCode::invalid_argument, false, std::move(detail)};
    case Status::cancelled:
      return {ErrorCode::cancelled, true, std::move(detail)};
    case Status::unknown:
    case Status::deadline_exceeded:
    case Status::aborted:
    case Status::internal:
    case Status::unavailable:
      return {ErrorCode::timed_out, true, std::move(detail)};
    default:
      return {ErrorCode::unavailable, true, std::move(detail)};
  }
}

bool publish_again(const Failure& failure) {
  if (failure.status == Status::internal && failure.text.find(kBadText) != std::string::npos) return false;
  return is_one_of(failure.status, kPublishAgain);
}

bool ack_again(const Failure& failure) {
  return is_one_of(failure.status, kAckAgain);
}

IdFate fate_of(const Failure& failure, const std::string& ack_id) {
  const auto why = failure.ids.find(ack_id);
  if (why != failure.ids.end())
    return why->second.starts_with(kTransientPrefix) ? IdFate::again : IdFate::lost;
  return ack_again(failure) ? IdFate::again : IdFate::lost;
}

Duration repeat_wait(int tries) {
  Duration wait = kRepeatMin;
  for (int i = 1; i < tries && wait < kRepeatMax; ++i) wait *= 2;
  return std::min(wait, kRepeatMax);
}

Reopening reopening(const Failure& failure, Duration lived, int failures) {
  if (is_one_of(failure.status, kOperators)) return {kRepeatMax, true};
  if (failure.status == Status::ok || (lived >= kStreamLived && failure.status != Status::resource_exhausted))
    return {Duration{0}, false};
  const Duration wait = repeat_wait(failures);
  return {failure.status == Status::resource_exhausted ? std::max(wait, kExhaustedWait) : wait, false};
}

}  // namespace dripgate::broker::pubsub
