// Result and Error: how every call of the library says that something could not be done. Nothing throws
// across the library's edge. Denied, beyond the horizon and duplicate are values, never an Error.
//
// Headers of dripgate::dripgate need C++20 and the standard library, nothing else. Everything lives in the
// inline namespace dripgate::v1, which is part of every symbol: another major form of the library is v2.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <variant>

// The library's own files see v1 beside rooms that have words of their own, so there it is not inline.
#ifndef DRIPGATE_V1
#define DRIPGATE_V1 inline v1
#endif

namespace dripgate::DRIPGATE_V1 {

/// A point in time: UTC, microseconds.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
using Span = std::chrono::microseconds;

enum class ErrorCode {
  invalid_argument,  // what the caller said; detail names the place and the accepted values
  not_found,
  conflict,            // same identity, other content
  too_large,           // over a bound
  unavailable,         // the store did not answer or said no for now
  timed_out,           // the outcome is unknown: it may have happened
  corrupt,             // stored bytes are not what was written
  newer_version,       // written by a later Dripgate
  locked,              // another process owns the file
  full,                // disk or a bounded queue
  clock_stepped_back,  // by more than 5 s
  io,
  cancelled,  // the object that was asked has ended
};

struct Error {
  ErrorCode code{};
  bool transient = false;  // trying the same thing later can succeed
  std::string detail{};    // for a person: what, where, accepted values
};

/// A value or an Error; read like std::expected. value() and error() of the other kind throw
/// std::bad_variant_access.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] T& value() & { return std::get<0>(content_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(content_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(content_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

/// Of calls that answer nothing but whether they were done.
struct Done {};

/// Takes the answer of one call, once. It must not throw.
template <class T>
using Callback = std::function<void(Result<T>)>;

/// Runs a task later, on threads of the caller: what binds callbacks to an event loop. With Asio:
///   [&io](std::function<void()> task) { boost::asio::post(io, std::move(task)); }
/// Called from any thread; what it reaches outlives the object it was given to.
using Post = std::function<void(std::function<void()>)>;

}  // namespace dripgate::DRIPGATE_V1
