#include "store/redis/vendor_wire.h"

#include <bit>
#include <cstring>

#include "core/fixed_window.h"

namespace dripgate::store {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in memory");

enum class Kind : char { bucket = 1, window, day };
/// Days around now: one before it, and as many after it as a freeze and a caller's old clock may reach.
constexpr int kDaysAfter = 4;
/// Of a policy's limit and its cost: a script reads that much whatever the policy is.
constexpr std::size_t kOneLimitBytes = 40;

void put(std::string& out, double number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}
/// Every number of a vendor key is below 2^53, or so large that only its being larger matters.
void put(std::string& out, std::int64_t number) {
  put(out, static_cast<double>(number));
}

void put_days(std::string& out, const Zone& zone, WallTime around) {
  std::string days;
  Zone::Day day = zone.day_at(zone.day_at(around).start - Duration{1});
  put(days, to_us(day.start));
  for (int i = 0; i <= kDaysAfter; ++i) {
    put(days, to_us(day.end));
    day = zone.day_at(day.end);
  }
  out += static_cast<char>(days.size() / sizeof(double));
  out += days;
}

class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}
  std::uint8_t byte() {
    if (text_.empty()) return void(good_ = false), std::uint8_t{0};
    const auto value = static_cast<std::uint8_t>(text_.front());
    text_.remove_prefix(1);
    return value;
  }
  std::int64_t number() {
    double value = 0;
    good_ = good_ && text_.size() >= sizeof value;
    if (!good_) return 0;
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return static_cast<std::int64_t>(value);
  }
  WallTime time() { return from_us(number()); }
  [[nodiscard]] bool done() const { return good_ && text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::corrupt, "a vendor script gave a reply that is none of its own");
}

std::optional<WallTime> frozen(WallTime until) {
  return until > core::VendorState::kNever ? std::optional(until) : std::nullopt;
}

}  // namespace

std::string pack_vendor_policy(const core::VendorPolicy& policy, WallTime floor, WallTime around) {
  const std::size_t paced = core::paced_limit(policy);
  const std::size_t queued = core::queue_limit(policy);
  const auto place = [&policy](std::size_t i) {
    return static_cast<char>(i == policy.limits.size() ? 0 : i + 1);
  };
  std::string out;
  put(out, std::max<std::int64_t>(0, to_us(floor)));
  out += {static_cast<char>(policy.limits.size()),
          place(paced),
          place(queued),
          static_cast<char>(policy.concurrent & 0xff),
          static_cast<char>(policy.concurrent >> 8),
          static_cast<char>(policy.sync_percent)};
  put(out, policy.lease.count());
  put(out, policy.freeze_floor.count());
  put(out, policy.freeze_cap.count());
  for (const core::Limit& limit : policy.limits) {
    const Kind kind = limit.algorithm == core::Algorithm::token_bucket ? Kind::bucket
                      : limit.zone                                     ? Kind::day
                                                                       : Kind::window;
    out += static_cast<char>(kind);
    put(out, limit.limit);
    put(out, limit.window.count());
    put(out, limit.capacity);
    if (kind == Kind::day) put_days(out, *limit.zone, around);
  }
  return out;
}

std::string pack_vendor_costs(const core::VendorPolicy& policy, const core::VendorCosts& costs) {
  std::string out;
  for (std::size_t i = 0; i < policy.limits.size(); ++i) put(out, costs[i]);
  return out.append(kOneLimitBytes, '\0');
}

std::string pack_observation(const core::VendorPolicy& policy, const core::VendorObservation& seen) {
  std::string out{static_cast<char>(seen.verdict)};
  put(out, seen.permit ? static_cast<std::int64_t>(seen.permit->number) : 0);
  put(out, seen.permit ? to_us(seen.permit->acquired) : 0);
  put(out, seen.sent ? std::max<std::int64_t>(0, to_us(*seen.sent)) : -1);
  put(out, seen.freeze.count());
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    put(out, seen.limits[i].remaining);
    put(out, seen.limits[i].hold.count());
    put(out, seen.limits[i].resolution.count());
    put(out, seen.limits[i].actual);
  }
  return out;
}

Result<VendorReply<core::VendorGrant>> read_vendor_grant(std::string_view reply) {
  Numbers in(reply);
  VendorReply<core::VendorGrant> read;
  read.trouble = static_cast<VendorTrouble>(in.byte());
  read.time = in.time();
  core::VendorGrant& grant = read.answer;
  grant.now = in.time();
  const std::int64_t verdict = in.number();
  grant.allowed = verdict == 1;
  grant.impossible = verdict == 2;
  grant.retry_after = Duration{in.number()};
  grant.permit.number = static_cast<std::uint64_t>(in.number());
  if (grant.allowed) grant.permit.acquired = grant.now;
  grant.remaining = in.number();
  grant.frozen_until = frozen(in.time());
  if (!in.done()) return unreadable();
  return read;
}

Result<VendorReply<core::VendorEffect>> read_vendor_effect(std::string_view reply) {
  Numbers in(reply);
  VendorReply<core::VendorEffect> read;
  read.trouble = static_cast<VendorTrouble>(in.byte());
  read.time = in.time();
  core::VendorEffect& effect = read.answer;
  effect.now = in.time();
  const std::int64_t flags = in.number();
  effect.froze = (flags & 1) != 0;
  effect.lowered = (flags & 2) != 0;
  effect.held = (flags & 4) != 0;
  effect.settled = (flags & 8) != 0;
  effect.returned = (flags & 16) != 0;
  effect.fewer = (flags & 32) != 0;
  effect.ignored = (flags & 64) != 0;
  effect.remaining = in.number();
  effect.frozen_until = frozen(in.time());
  if (!in.done()) return unreadable();
  return read;
}

}  // namespace dripgate::store
