// The numeric bounds that rooms share, with unit and reason. A bound of one room stands, named, at the head
// of its file; a queue, loop or retry without a named bound does not exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace dripgate {

using namespace std::chrono_literals;

// --- arithmetic
/// cost x window (us) must stay below this: Lua numbers are doubles.
inline constexpr std::int64_t kExactIntegerMax = std::int64_t{1} << 53;
/// A clock that steps back is clamped up to here; more is an alarm and a store failure (semantics.md section
/// 4).
inline constexpr Duration kClockClampMax = 5s;

// --- keys and policies
inline constexpr std::size_t kLimitsPerPolicyMax = 8;     // limits of one policy or stream
inline constexpr std::size_t kChargesPerRequestMax = 32;  // (policy, limit) pairs in one consume
inline constexpr int kInstancesMax = 10'000;           // processes that share limits; more count as this many
inline constexpr std::size_t kKeyValueBytesMax = 128;  // longer key values are hashed

// --- booking
/// Bookings whose timer never fired leave the pending count after one to two of these.
inline constexpr Duration kLostTimerAge = 1h;
/// RELEASED but not DONE: after this the event goes through the gate again.
inline constexpr Duration kReleaseLease = 60s;
/// A rebooked event may use the room kept for overdue ones this often, then it goes to the tail.
inline constexpr int kRepairsMax = 2;
/// Rounds of a replay over windows that do not nest, before it jumps to a lower bound.
inline constexpr int kReplayRoundsMax = 256;
/// Longest horizon a stream may ask for.
inline constexpr Duration kHorizonMax = std::chrono::hours{24 * 30};

// --- drip
inline constexpr std::size_t kOutstandingMessagesDefault = 1000;
inline constexpr std::size_t kOutstandingBytesDefault = 64u << 20;
inline constexpr int kHopsMax = 10;  // publishes of one event across topics before it is a circle
inline constexpr std::size_t kTurnTasksMax = 256;           // tasks that share one SQLite commit
inline constexpr std::size_t kFiringsOutstandingMax = 256;  // timer entries fired and not yet settled
inline constexpr std::int64_t kReplayRateMax = 10'000;      // dead letters replayed per second
inline constexpr Duration kIngestVerdictWait = 250ms;

// --- HTTP
inline constexpr std::size_t kBodyBytesMax = 10u << 20;
inline constexpr std::size_t kLineBytesMax = 1u << 20;     // one event
inline constexpr std::size_t kIngestEventsMax = 50'000;    // events of one request: they share a commit
inline constexpr std::size_t kEventIdBytesMax = 256;       // a longer one is hashed (Dripgate-Id: refused)
inline constexpr std::size_t kHeaderBytesMax = 16u << 10;  // request line and headers
inline constexpr std::size_t kBodyBytesTotalMax = 256u << 20;  // bodies of all requests in hand
inline constexpr std::size_t kConnectionsMax = 4096;           // per server; each is a file descriptor
inline constexpr std::size_t kRequestsInFlightMax = 1024;      // handed to the routes, unanswered
inline constexpr Duration kHttpIdleTimeout = 60s;              // between requests of a connection
inline constexpr Duration kHttpHeaderTimeout = 10s;            // whole header, however slowly it drips
inline constexpr Duration kHttpBodyTimeout = 60s;              // whole body: 10 MiB at 170 KiB/s
inline constexpr Duration kHttpWriteTimeout = 30s;             // one whole answer
inline constexpr std::size_t kClientWaitingMax = 16'384;       // calls waiting for a connection
inline constexpr Duration kClientIdleMax = 4s;  // below the 5 s after which common servers close
inline constexpr std::size_t kAnswerHeaderBytesMax = 64u << 10;  // of an answer to our client
inline constexpr std::size_t kAnswerBytesMax = 64u << 20;        // body of an answer to our client
inline constexpr std::size_t kSinkAnswerBytesMax = 64u << 10;    // only the status of a sink counts
inline constexpr std::size_t kMetricLabelsMax = 64;              // values of one label, then "other"
inline constexpr std::size_t kDeadLettersAnswerMax = 200;  // letters of one answer; each may be kLineBytesMax

}  // namespace dripgate
