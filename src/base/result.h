// Result and Error: how every room reports that something could not be done.
// A refusal that the semantics know (denied, beyond the horizon, duplicate) is a value, never an Error.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <utility>

namespace dripgate {

enum class ErrorCode {
  invalid_argument,  // the caller's input; detail names the place and the accepted values
  not_found,
  conflict,            // same identity, other content
  too_large,           // over a bound of base/limits.h
  unavailable,         // the backend did not answer or said no for now
  timed_out,           // the outcome is unknown: it may have happened
  corrupt,             // stored bytes are not what was written
  newer_version,       // written by a later Dripgate
  locked,              // another process owns the file
  full,                // disk or a bounded queue
  clock_stepped_back,  // by more than kClockClampMax
  io,
  cancelled,  // shutting down; nothing happened
};

struct Error {
  ErrorCode code{};
  bool transient = false;  // trying the same thing later can succeed
  std::string detail;      // one sentence for a person: what, where, accepted values
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail, bool transient = false) {
  return std::unexpected(Error{code, transient, std::move(detail)});
}

/// The word for a code in logs, metrics and JSON ("timed_out").
[[nodiscard]] const char* to_string(ErrorCode code);

/// A callback for one outcome. It runs exactly once, on the executor of the object that takes it, never under
/// a lock.
using Task = std::move_only_function<void()>;
template <class T>
using Done = std::move_only_function<void(Result<T>)>;

}  // namespace dripgate
