#include "vendor/vendors.h"

#include <algorithm>
#include <utility>

#include "vendor/numbers.h"

namespace dripgate::vendor {
namespace {

using core::FailureMode;

std::optional<core::Units> known(core::Units remaining) {
  return remaining >= kExactIntegerMax ? std::nullopt : std::optional(remaining);  // no limit at all
}

Acquired acquired_of(const core::VendorGrant& grant, PermitOf of) {
  Acquired acquired{.allowed = grant.allowed,
                    .impossible = grant.impossible,
                    .id = {},
                    .remaining = known(grant.remaining),
                    .retry_after = grant.retry_after,
                    .frozen_until = grant.frozen_until,
                    .degraded = {}};
  if (grant.allowed) acquired.id = permit_text({.of = of, .id = grant.permit});
  return acquired;
}

void add_effect(Observed& observed, const core::VendorEffect& effect) {
  observed.frozen_until = effect.frozen_until;
  if (effect.frozen_until) observed.retry_after = *effect.frozen_until - effect.now;
  observed.remaining = known(effect.remaining);
  const std::pair<bool, const char*> words[] = {{effect.froze, "freeze"},      {effect.lowered, "lowered"},
                                                {effect.held, "held"},         {effect.settled, "settled"},
                                                {effect.returned, "returned"}, {effect.fewer, "concurrency"},
                                                {effect.ignored, "older"}};
  for (const auto& [is, word] : words)
    if (is) observed.applied.emplace_back(word);
}

/// A key that is broken or of a newer version is its own trouble: the store has answered.
bool store_failed(const Error& error) {
  return error.code != ErrorCode::corrupt && error.code != ErrorCode::newer_version &&
         error.code != ErrorCode::invalid_argument;
}

std::unexpected<Error> closed(const core::Vendor& vendor) {
  return fail(ErrorCode::unavailable,
              "vendor '" + vendor.id + "': the store does not answer, and onStoreFailure is closed", true);
}

}  // namespace

Result<Vendors::Asked> Vendors::find(const std::string& vendor, const core::Descriptor& attributes) const {
  std::string ids;
  for (const core::VendorPtr& known : context_.vendors()) {
    ids.append(ids.empty() ? "" : ", ").append(known->id);
    if (known->id != vendor) continue;
    const auto key = known->key.render([&](std::string_view name) -> std::optional<std::string> {
      const auto found = attributes.find(name);
      if (found == attributes.end() || found->second.empty()) return std::nullopt;
      return found->second;
    });
    if (key) return Asked{.vendor = known, .key = known->id + ":" + *key};
    std::string names;
    for (const std::string& name : known->key.names()) names.append(names.empty() ? "" : ", ").append(name);
    return fail(ErrorCode::invalid_argument, "attributes: the key of vendor '" + vendor + "' needs " + names);
  }
  return fail(ErrorCode::not_found, "no vendor '" + vendor.substr(0, kKeyValueBytesMax) +
                                        "'; known: " + (ids.empty() ? "none" : ids));
}

core::VendorPolicyPtr Vendors::share_of(const core::Vendor& vendor) const {
  const int parts = std::max({context_.instances(), vendor.local_share, 1});
  auto share = std::make_shared<core::VendorPolicy>(*vendor.policy);
  const auto part = [parts](core::Units units) { return std::max<core::Units>(1, units / parts); };
  for (core::Limit& limit : share->limits) {
    limit.limit = part(limit.limit);
    limit.capacity = part(limit.capacity);
  }
  if (share->concurrent > 0) share->concurrent = std::max(1, share->concurrent / parts);
  return share;
}

void Vendors::report(const core::Breaker::Permit& permit, const Error* error) {
  const bool failed = error != nullptr && store_failed(*error);
  failed ? breaker_.failed(permit, mono()) : breaker_.succeeded(permit, mono());
}

void Vendors::finish(const std::string& vendor, Acquired acquired, Done<Acquired>& done) {
  context_.observer.on_acquire(vendor, acquired.allowed        ? "allowed"
                                       : acquired.impossible   ? "impossible"
                                       : acquired.frozen_until ? "frozen"
                                                               : "denied");
  done(std::move(acquired));
}

void Vendors::finish(const std::string& vendor, Observed observed, Done<Observed>& done) {
  context_.observer.on_observe(vendor, observed);
  done(std::move(observed));
}

void Vendors::acquire(const AcquireCall& call, Done<Acquired> done) {
  auto asked = find(call.vendor, call.attributes);
  if (!asked) return done(std::unexpected(std::move(asked).error()));
  auto costs = costs_of(*asked->vendor, call.costs);
  if (!costs) return done(std::unexpected(std::move(costs).error()));
  const auto permit = breaker_.admit(mono());
  if (!permit) return acquire_degraded(*asked, *costs, std::move(done));
  context_.store.acquire({.key = asked->key, .policy = asked->vendor->policy, .costs = *costs},
                         guard_.wrap([this, asked = *asked, costs = *costs, permit = *permit,
                                      done = std::move(done)](Result<core::VendorGrant> grant) mutable {
                           report(permit, grant ? nullptr : &grant.error());
                           if (!grant) return acquire_degraded(asked, costs, std::move(done));
                           finish(asked.vendor->id, acquired_of(*grant, PermitOf::store), done);
                         }));
}

void Vendors::acquire_degraded(const Asked& asked, const core::VendorCosts& costs, Done<Acquired> done) {
  const FailureMode mode = asked.vendor->on_store_failure;
  if (mode == FailureMode::closed) {
    context_.observer.on_acquire(asked.vendor->id, "unavailable");
    return done(closed(*asked.vendor));
  }
  if (mode == FailureMode::open) {
    return finish(asked.vendor->id, Acquired{.allowed = true, .id = permit_text({}), .degraded = mode}, done);
  }
  context_.local.acquire(
      {.key = asked.key, .policy = share_of(*asked.vendor), .costs = costs},
      guard_.wrap([this, asked, done = std::move(done)](Result<core::VendorGrant> grant) mutable {
        if (!grant) return done(std::unexpected(std::move(grant).error()));
        Acquired acquired = acquired_of(*grant, PermitOf::local);
        acquired.degraded = FailureMode::local;
        finish(asked.vendor->id, std::move(acquired), done);
      }));
}

void Vendors::observe(const ObserveCall& call, Done<Observed> done) {
  auto asked = find(call.vendor, call.attributes);
  if (!asked) return done(std::unexpected(std::move(asked).error()));
  const Profile* profile = find_profile(asked->vendor->profile);
  const Reading reading = read_answer(*profile, call.answer, context_.clock.now());
  auto seen = observation_of(*asked->vendor, reading, call);
  if (!seen) return done(std::unexpected(std::move(seen).error()));
  Observed observed;
  observed.rubbish = reading.rubbish;
  observed.refused = reading.refusal != Refusal::none;
  // Without a freeze: too many at once, one locked object, or a store that is away.
  if (observed.refused) {
    const core::VendorPolicy& policy = *asked->vendor->policy;
    const Duration said =
        reading.refusal == Refusal::rate ? reading.retry_after.value_or(kRefusedWait) : core::kPermitWaitMax;
    observed.retry_after = std::max(std::min(said, policy.freeze_cap), policy.freeze_floor);
  }
  const bool local = call.id.starts_with(static_cast<char>(PermitOf::local));
  const auto permit = breaker_.admit(mono());
  if (!permit) return observe_degraded(*asked, *seen, std::move(observed), std::move(done));
  // A permit of this process' share is given back there; what the vendor says is for all.
  if (local) {
    context_.local.observe({.key = asked->key, .policy = share_of(*asked->vendor), .seen = *seen},
                           [](const Result<core::VendorEffect>&) {});
    if (seen->permit && !seen->sent) seen->sent = seen->permit->acquired;
    seen->permit.reset();
  }
  context_.store.observe({.key = asked->key, .policy = asked->vendor->policy, .seen = *seen},
                         guard_.wrap([this, asked = *asked, seen = *seen, permit = *permit, observed,
                                      done = std::move(done)](Result<core::VendorEffect> effect) mutable {
                           report(permit, effect ? nullptr : &effect.error());
                           if (!effect)
                             return observe_degraded(asked, seen, std::move(observed), std::move(done));
                           add_effect(observed, *effect);
                           finish(asked.vendor->id, std::move(observed), done);
                         }));
}

void Vendors::observe_degraded(const Asked& asked, const core::VendorObservation& seen, Observed observed,
                               Done<Observed> done) {
  const FailureMode mode = asked.vendor->on_store_failure;
  if (mode == FailureMode::closed) return done(closed(*asked.vendor));
  observed.degraded = mode;
  if (mode == FailureMode::open) return finish(asked.vendor->id, std::move(observed), done);
  context_.local.observe(
      {.key = asked.key, .policy = share_of(*asked.vendor), .seen = seen},
      guard_.wrap([this, asked, observed, done = std::move(done)](Result<core::VendorEffect> effect) mutable {
        if (!effect) return done(std::unexpected(std::move(effect).error()));
        add_effect(observed, *effect);
        finish(asked.vendor->id, std::move(observed), done);
      }));
}

void Vendors::inspect(const std::string& vendor, const core::Descriptor& attributes,
                      Done<VendorStatus> done) {
  auto asked = find(vendor, attributes);
  if (!asked) return done(std::unexpected(std::move(asked).error()));
  context_.store.inspect(
      asked->key, asked->vendor->policy,
      guard_.wrap([asked = *asked, done = std::move(done)](Result<core::VendorView> view) mutable {
        if (!view) return done(std::unexpected(std::move(view).error()));
        done(VendorStatus{.key = asked.key, .vendor = asked.vendor, .view = *std::move(view)});
      }));
}

void Vendors::freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
                     Done<Operated> done) {
  auto asked = find(vendor, attributes);
  if (!asked) return done(std::unexpected(std::move(asked).error()));
  if (span <= Duration{0} || span > kOperatorFreezeMax)
    return done(
        fail(ErrorCode::invalid_argument, "a freeze of a vendor key: accepted: more than 0, at most 24h"));
  // Exactly so long: neither the floor of refusals in a row nor the cap of what vendors say decides.
  auto policy = std::make_shared<core::VendorPolicy>(*asked->vendor->policy);
  policy->freeze_floor = Duration{1};
  policy->freeze_cap = span;
  core::VendorObservation seen;
  seen.verdict = core::VendorVerdict::refused;
  seen.freeze = span;
  operate(*asked, std::move(policy), seen, std::move(done));
}

void Vendors::thaw(const std::string& vendor, const core::Descriptor& attributes, Done<Operated> done) {
  auto asked = find(vendor, attributes);
  if (!asked) return done(std::unexpected(std::move(asked).error()));
  core::VendorObservation seen;
  seen.verdict = core::VendorVerdict::thaw;
  operate(*asked, asked->vendor->policy, seen, std::move(done));
}

void Vendors::operate(const Asked& asked, core::VendorPolicyPtr policy, const core::VendorObservation& seen,
                      Done<Operated> done) {
  context_.store.observe(
      {.key = asked.key, .policy = std::move(policy), .seen = seen},
      guard_.wrap([key = asked.key, done = std::move(done)](Result<core::VendorEffect> effect) mutable {
        if (!effect) return done(std::unexpected(std::move(effect).error()));
        done(Operated{.key = key, .frozen_until = effect->frozen_until});
      }));
}

}  // namespace dripgate::vendor
