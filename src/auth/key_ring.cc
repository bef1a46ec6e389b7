// KeyRing: see key_ring.h.
#include "auth/key_ring.h"

#include <algorithm>
#include <utility>

#include "auth/access.h"

namespace dripgate::auth {

TokenAnswer KeyRing::check(std::string_view authorization, const TokenRules& rules) {
  const WallTime now = clock_.now();
  const auto keys = current(now);
  TokenAnswer answer = check_token(bearer_token(authorization), keys.get(), rules, now);
  if (answer.fault != TokenFault::unknown_key) return answer;
  const std::scoped_lock lock(mutex_);
  if (!std::exchange(wanted_, true)) executor_.post(guard_.wrap([this] { unknown_key(); }));
  return answer;
}

std::shared_ptr<const TokenKeys> KeyRing::current(WallTime now) const {
  const std::scoped_lock lock(mutex_);
  return now - fetched_at_ > kKeysStaleMax ? nullptr : keys_;
}

void KeyRing::unknown_key() {
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = false;
  }
  const Duration since = clock_.now() - looked_at_;
  if (!fetching_ && (since >= kUnknownKeyEvery || since < Duration{0})) look();
}

void KeyRing::look() {
  fetching_ = true;
  looked_at_ = clock_.now();
  fetch_(guard_.wrap([this](Result<FetchedKeys> answer) { fetched(std::move(answer)); }));
}

void KeyRing::fetched(Result<FetchedKeys> answer) {
  fetching_ = false;
  auto keys = answer ? TokenKeys::parse(answer->jwks) : std::unexpected(answer.error());
  if (!keys) {
    told_(&keys.error());
    look_after(retry_);
    retry_ = std::min(retry_ * 2, kKeysRetryMax);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    keys_ = *std::move(keys);
    fetched_at_ = clock_.now();
  }
  told_(nullptr);
  retry_ = kKeysRetryMin;
  look_after(std::clamp(answer->max_age.value_or(kKeysAgeDefault), kKeysAgeMin, kKeysAgeMax));
}

void KeyRing::look_after(Duration wait) {
  executor_.post_after(wait, guard_.wrap([this, number = ++look_number_] {
    if (number == look_number_ && !fetching_) look();
  }));
}

}  // namespace dripgate::auth
