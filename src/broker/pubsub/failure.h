// How calls of Pub/Sub fail, what is tried again and after how long. Pure.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace dripgate::broker::pubsub {

using namespace std::chrono_literals;

/// Canonical status codes with their numbers on the wire.
enum class Status {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};
[[nodiscard]] std::string_view to_string(Status status);

struct Failure {
  Status status = Status::ok;
  std::string text;                          // the service's own words
  std::map<std::string, std::string> ids{};  // exactly-once: ack id -> why this one failed
};

template <class T>
using Answer = std::expected<T, Failure>;
template <class T>
using Answered = std::move_only_function<void(Answer<T>)>;

/// A failed call as the ports say it; `what` names it ("publish to projects/p/topics/t"). What only an
/// operator can mend (no such topic, no permission) counts as transient: it is no fault of the event.
[[nodiscard]] Error to_error(const Failure& failure, std::string_view what);

/// The same publish may succeed when it is sent again.
[[nodiscard]] bool publish_again(const Failure& failure);
/// The same acknowledge or modify may succeed when it is sent again.
[[nodiscard]] bool ack_again(const Failure& failure);

enum class IdFate { again, lost };
/// What is to be done with one ack id of a call that failed. lost: no repeat helps, and unless it was done
/// all the same the message comes again.
[[nodiscard]] IdFate fate_of(const Failure& failure, const std::string& ack_id);

/// First wait of every repeat, doubled each time ...
inline constexpr Duration kRepeatMin = 100ms;
/// ... up to this.
inline constexpr Duration kRepeatMax = 60s;
/// Before repeat number `tries` (>= 1).
[[nodiscard]] Duration repeat_wait(int tries);

/// A stream that was open for so long ended in the course of things.
inline constexpr Duration kStreamLived = 30s;
/// With a quota exceeded the service wants to be left alone at least for this.
inline constexpr Duration kExhaustedWait = 1s;

struct Reopening {
  Duration wait;
  bool trouble = false;  // only an operator can mend it; asked again every kRepeatMax all the same
};
/// After a stream that was open for `lived` ended; `failures`: short-lived ones in a row, this one included.
[[nodiscard]] Reopening reopening(const Failure& failure, Duration lived, int failures);

}  // namespace dripgate::broker::pubsub
