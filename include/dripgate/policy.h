// Policy: named match + key + limits + failure mode, written in code. The same words, bounds and checks as in
// dripgate.yaml (docs/configuration.md): what the file would be refused for is refused here.
//
//   dripgate::Policy free_plan{.id = "api-free",
//                              .match = {{"plan", {"free"}}},
//                              .key = {"apiKey"},
//                              .limits = {dripgate::Limit::bucket(20, 100, std::chrono::minutes{1})},
//                              .on_store_failure = dripgate::FailureMode::local};
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dripgate/result.h"

namespace dripgate::DRIPGATE_V1 {

enum class Algorithm { fixed_window, sliding_log, token_bucket };

/// What a policy asks for while the store does not answer: this process' share, allow, or refuse as
/// unavailable (503).
enum class FailureMode { local, open, closed };

/// What becomes of a request without a key part: refused, counted in one shared bucket, or this policy has no
/// say.
enum class MissingKey { deny, default_key, skip };

/// A quota per window for one key.
struct Limit {
  Algorithm algorithm = Algorithm::fixed_window;
  std::int64_t limit = 0;     // units per window; token bucket: units refilled per window
  Span window{};              // > 0
  std::int64_t capacity = 0;  // token bucket: burst. Elsewhere 0
  std::string timezone{};     // IANA name, of a fixed window of 24 h: calendar days there

  /// Aligned to the epoch: at most `limit` in every window.
  static Limit fixed(std::int64_t limit, Span window) {
    return {.algorithm = Algorithm::fixed_window, .limit = limit, .window = window};
  }
  /// Calendar days in an IANA time zone, DST-correct.
  static Limit daily(std::int64_t limit, std::string timezone) {
    return {.limit = limit, .window = std::chrono::hours{24}, .timezone = std::move(timezone)};
  }
  /// Exact: no span of one window ever holds more than `limit`.
  static Limit sliding(std::int64_t limit, Span window) {
    return {.algorithm = Algorithm::sliding_log, .limit = limit, .window = window};
  }
  /// `capacity` at once, `refill` units back per `window`.
  static Limit bucket(std::int64_t capacity, std::int64_t refill, Span window) {
    return {.algorithm = Algorithm::token_bucket, .limit = refill, .window = window, .capacity = capacity};
  }
};

/// The name of a fact whose value is part of the counter key.
struct KeyPart {
  KeyPart(const char* of) : name(of) {}
  KeyPart(std::string of) : name(std::move(of)) {}

  std::string name;
  bool secret = false;  // kept and shown only as a digest (apiKey always is)
  bool trim = false;    // white space around the value is no part of it
  bool lower = false;   // ASCII letters count without case
};

/// Other limits for one value of the first key part.
struct Override {
  std::string value{};  // of a secret key part: the first 16 hex digits of its SHA-256
  std::vector<Limit> limits{};
  bool unlimited = false;
};

/// An allow is remembered under (counter keys, idempotency key) and given again without a charge.
struct Idempotency {
  Span ttl{};
  int max_replays = 0;
};

struct Policy {
  std::string id{};
  std::string name{};  // headers and problem documents; empty: the id
  /// Fact -> patterns, any of which must hold; every fact must. "*": it is there; "abc*": a prefix; `route`
  /// takes "GET /users/{id}" and "/api/**". Empty: every request.
  std::map<std::string, std::vector<std::string>> match{};
  /// ASCII letters of `match` count without case, and so do those of its names in `key`, route and path
  /// always.
  bool ignore_case = false;
  std::vector<KeyPart> key{};  // empty: one counter for all
  std::string scope{};         // the key part that requests are kept together by; empty: the first
  std::vector<Limit> limits{};
  std::optional<FailureMode> on_store_failure{};  // must be said
  int local_share = 1;  // local: the share is one part in so many at most, however few instances are counted
  MissingKey on_missing_key = MissingKey::default_key;
  bool shadow = false;     // evaluated and counted, never denies
  bool unlimited = false;  // no limits
  std::vector<Override> overrides{};
  std::optional<Idempotency> idempotency{};
};

}  // namespace dripgate::DRIPGATE_V1
