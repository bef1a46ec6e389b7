// The port to claims: bytes that are too large for an entry of a timer, kept until the entry is handled. The
// entry carries a reference; one whose bytes are gone still fires, marked, so that it ends as a dead letter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dripgate::broker {

/// Set on a fired entry in place of its bytes: why they are not there. Never taken from outside.
inline constexpr std::string_view kClaimLostAttribute = "dripgate-claim-lost";

/// Of an event that is new to the claims, or whose bytes lie there already under another id: that one goes
/// soon, and meanwhile what has moved may take as much room again.
enum class ClaimOf : std::uint8_t { new_event, moved_event };

struct FoundClaim {
  std::optional<std::string> bytes{};  // empty: not there (any more)
  bool over = false;                   // let go before: the entry was handled, and this is a repeat of it
};

class Claims {
 public:
  virtual ~Claims() = default;
  /// `done` without an error: persisted, for longer than any timer keeps an entry. An id names its bytes:
  /// again is once. Errors: too_large (not transient: larger than one may be, or no room for it); others may
  /// be repeated.
  virtual void put(std::string id, std::string bytes, ClaimOf of, Done<void> done) = 0;
  virtual void find(std::string id, Done<FoundClaim> done) = 0;
  /// Nobody needs it: it goes after a grace, in which a repeat of the same entry still finds it. A later one,
  /// within a day, is told that it is over.
  virtual void let_go(std::string id) = 0;
};

}  // namespace dripgate::broker
