// Policy: named match + key + limits + failure mode, as loaded. Immutable once in a snapshot.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::core {

enum class MissingKey : std::uint8_t { deny, default_key, skip };

/// The facts of one request: name -> value ("plan" -> "free", "route" -> "POST /auth/login"). A name appears
/// once.
using Descriptor = std::map<std::string, std::string, std::less<>>;

/// One condition of `match`: every one must hold. Pattern "*" asks only that the name is there; a trailing
/// "*" is a prefix; `route` takes patterns ("GET /users/{id}", "/api/**").
struct MatchTerm {
  std::string name;
  std::vector<std::string> patterns;  // any of these
  bool ignore_case = false;           // of ASCII letters, in patterns and values
};

struct KeyPart {
  std::string name;
  bool secret = false;  // shown and stored only as the first 16 hex digits of its SHA-256 (apiKey always is)
  bool trim = false;    // white space around the value is no part of it
  bool lower = false;   // ASCII letters count without case
};

struct Override {
  std::string value;  // of the first key part
  std::vector<Limit> limits;
  bool unlimited = false;
};

struct IdempotencyRule {
  Duration ttl{};
  int max_replays = 0;
};

struct Policy {
  std::string id;
  std::string name;              // headers and problem documents; default the id
  std::vector<MatchTerm> match;  // empty: every request
  std::vector<KeyPart> key;      // empty: one counter for all
  std::string scope;             // the key part that is the hash tag; empty: the first
  std::vector<Limit> limits;
  FailureMode on_store_failure = FailureMode::closed;
  int local_share = 1;  // local: the share is one part in so many at most, however few instances are counted
  MissingKey on_missing_key = MissingKey::default_key;
  bool shadow = false;
  bool unlimited = false;
  std::vector<Override> overrides;
  std::optional<IdempotencyRule> idempotency;
};
using PolicyPtr = std::shared_ptr<const Policy>;

}  // namespace dripgate::core
