// The bytes of a vendor key: little-endian numbers, the same that lua/lib_vendor.lua packs.
#include <bit>
#include <cstring>

#include "core/vendor_bucket.h"

namespace dripgate::core {
namespace {

constexpr char kFormat = '1';
constexpr char kKind = 'v';
constexpr std::size_t kTime = 7;
constexpr std::size_t kUnits = 6;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in memory");

class Writer {
 public:
  void number(std::int64_t value, std::size_t bytes) {
    char buffer[sizeof value];
    std::memcpy(buffer, &value, sizeof value);
    out_.append(buffer, bytes);
  }
  void time(WallTime value) { number(to_us(value), kTime); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_{kFormat, kKind};
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  std::int64_t number(std::size_t bytes) {
    good_ = good_ && text_.size() >= bytes;
    if (!good_) return 0;
    std::int64_t value = 0;
    std::memcpy(&value, text_.data(), bytes);
    text_.remove_prefix(bytes);
    return value;
  }
  WallTime time() { return from_us(number(kTime)); }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

}  // namespace

std::string encode(const VendorState& state) {
  Writer out;
  out.time(state.seen);
  out.time(state.frozen);
  out.time(state.refused);
  out.number(state.strikes, 1);
  out.time(state.synced);
  out.number(state.concurrent, 2);
  out.time(state.concurrent_until);
  out.number(static_cast<std::int64_t>(state.permits_given), kUnits);
  out.time(state.told);
  out.number(static_cast<std::int64_t>(state.limits.size()), 1);
  for (const VendorState::OfLimit& limit : state.limits) {
    out.time(limit.time);
    out.number(limit.value, kTime);
    out.time(limit.hold);
    out.number(limit.window.count() * 2 + (limit.bucket ? 1 : 0), kTime);
  }
  for (const VendorState::Permit& permit : state.permits) {
    out.number(static_cast<std::int64_t>(permit.id.number), kUnits);
    out.time(permit.id.acquired);
    out.time(permit.lease_end);
    for (std::size_t i = 0; i < state.limits.size(); ++i) out.number(permit.costs[i], kUnits);
  }
  return out.take();
}

Result<VendorState> decode_vendor(std::string_view bytes) {
  VendorState state;
  if (bytes.empty()) return state;
  if (bytes.front() != kFormat)
    return fail(ErrorCode::newer_version, "vendor key: of a format that begins with byte " +
                                              std::to_string(static_cast<unsigned char>(bytes.front())) +
                                              "; this Dripgate reads format " + kFormat);
  Reader in(bytes.substr(std::min<std::size_t>(bytes.size(), 2)));
  state.seen = in.time();
  state.frozen = in.time();
  state.refused = in.time();
  state.strikes = static_cast<int>(in.number(1));
  state.synced = in.time();
  state.concurrent = static_cast<int>(in.number(2));
  state.concurrent_until = in.time();
  state.permits_given = static_cast<std::uint64_t>(in.number(kUnits));
  state.told = in.time();
  const auto limits = static_cast<std::size_t>(in.number(1));
  const bool shape = bytes.size() > 1 && bytes[1] == kKind && limits <= kVendorLimitsMax && in.good();
  if (!shape) return fail(ErrorCode::corrupt, "vendor key: not of this shape");
  for (std::size_t i = 0; i < limits; ++i) {
    VendorState::OfLimit limit;
    limit.time = in.time();
    limit.value = in.number(kTime);
    limit.hold = in.time();
    const std::int64_t span = in.number(kTime);
    limit.window = Duration{span / 2};
    limit.bucket = span % 2 != 0;
    state.limits.push_back(limit);
  }
  while (in.good() && !in.done() && state.permits.size() < kPermitsMax) {
    VendorState::Permit permit;
    permit.id.number = static_cast<std::uint64_t>(in.number(kUnits));
    permit.id.acquired = in.time();
    permit.lease_end = in.time();
    for (std::size_t i = 0; i < limits; ++i) permit.costs[i] = in.number(kUnits);
    state.permits.push_back(permit);
  }
  if (!in.good() || !in.done()) return fail(ErrorCode::corrupt, "vendor key: cut short or too long");
  return state;
}

}  // namespace dripgate::core
