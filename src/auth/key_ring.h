// KeyRing: the public keys of one issuer, fetched ahead of need: at start, when they grow old, and when a
// token names a key that is not among them (bounded, so that forged key ids cause no requests). While they
// cannot be fetched the last ones stay in force for kKeysStaleMax. `check` may be called from any thread; the
// rest, and the fetching, is on the executor.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "auth/identity_token.h"
#include "base/guard.h"

namespace dripgate::auth {

/// Whatever the issuer says of their age.
inline constexpr Duration kKeysAgeMin = 1min;
inline constexpr Duration kKeysAgeMax = std::chrono::hours{6};
inline constexpr Duration kKeysAgeDefault = std::chrono::hours{1};
/// Keys that nobody could confirm for so long are not believed any more.
inline constexpr Duration kKeysStaleMax = std::chrono::hours{24};
/// Between two fetches for unknown key ids.
inline constexpr Duration kUnknownKeyEvery = 10s;
/// After a failed fetch; doubles.
inline constexpr Duration kKeysRetryMin = 1s;
inline constexpr Duration kKeysRetryMax = 1min;

struct FetchedKeys {
  std::string jwks;
  std::optional<Duration> max_age;  // as its Cache-Control says
};

class KeyRing {
 public:
  using Fetch = std::function<void(Done<FetchedKeys>)>;
  /// Told after every fetch: the error, or null.
  using Told = std::function<void(const Error*)>;

  /// `fetch` answers on the executor.
  KeyRing(Executor& executor, Clock& clock, Fetch fetch, Told told)
      : executor_(executor), clock_(clock), fetch_(std::move(fetch)), told_(std::move(told)) {}

  void start() { look(); }
  /// The token of an Authorization header.
  [[nodiscard]] TokenAnswer check(std::string_view authorization, const TokenRules& rules);

 private:
  [[nodiscard]] std::shared_ptr<const TokenKeys> current(WallTime now) const;
  void look();
  void look_after(Duration wait);
  void fetched(Result<FetchedKeys> answer);
  void unknown_key();

  Executor& executor_;
  Clock& clock_;
  Fetch fetch_;
  Told told_;
  mutable std::mutex mutex_;  // the next three
  std::shared_ptr<const TokenKeys> keys_;
  WallTime fetched_at_ = kLongAgo;
  bool wanted_ = false;  // a look for an unknown key is posted
  bool fetching_ = false;
  WallTime looked_at_ = kLongAgo;
  Duration retry_ = kKeysRetryMin;
  std::uint64_t look_number_ = 0;  // of the look posted ahead; an older one does nothing
  Guard guard_;
};

}  // namespace dripgate::auth
