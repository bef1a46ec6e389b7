#include "store/redis/counter_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/limits.h"
#include "core/check.h"
#include "core/fixed_window.h"
#include "store/counter_calls.h"
#include "store/redis/counter_code.h"

namespace dripgate::store {
namespace {

using namespace std::chrono_literals;
using core::Algorithm;
using core::CounterState;

constexpr char kFormat = '1';
constexpr std::size_t kTimeBytes = 7;
constexpr std::size_t kUnitsBytes = 6;
constexpr std::size_t kCodeDigits = 4;
/// kind of a packed charge, as in lua/lib_counter.lua
enum class Kind : char { bucket = 1, window, log, day };

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in memory");

std::unexpected<Error> corrupt(const char* what) {
  return fail(ErrorCode::corrupt, std::string("counter in Redis: ") + what);
}

/// Takes little-endian numbers from the front of a text; `good` turns false at its end.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  std::int64_t take(std::size_t bytes) {
    good_ = good_ && text_.size() >= bytes;
    if (!good_) return 0;
    std::int64_t number = 0;
    std::memcpy(&number, text_.data(), bytes);
    text_.remove_prefix(bytes);
    return number;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool done() const { return good_ && text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

void put(std::string& out, double number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

/// How long a bucket takes to refill `units`: whole us under common numbers.
std::int64_t refill_us(const core::Limit& limit, core::Units units) {
  return units * (limit.window.count() / limit.limit);
}

/// Every number of a charge is below 2^53 (or so large that only its being larger matters).
double exact(std::int64_t number) {
  return static_cast<double>(number);
}

Result<CounterState> read_integer(std::string_view text) {
  std::int64_t arrival = 0;
  const std::string_view time = text.substr(0, text.size() - std::min(text.size(), kCodeDigits));
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), arrival);
  const auto numbers = numbers_of_code(text.substr(time.size()));
  if (time.empty() || error != std::errc{} || end != time.data() + time.size() || !numbers)
    return corrupt("not a number of this format");
  CounterState state;
  state.exists = true;
  state.written = *numbers;
  state.time = from_us(arrival + kArrivalEpoch);
  return state;
}

Result<CounterState> read_bucket(Bytes bytes) {
  CounterState state;
  state.exists = true;
  state.written.algorithm = Algorithm::token_bucket;
  state.time = from_us(bytes.take(kTimeBytes));
  state.value = bytes.take(kTimeBytes);
  state.written.limit = bytes.take(kUnitsBytes);
  state.written.window = Duration{bytes.take(kTimeBytes)};
  state.written.capacity = bytes.take(kUnitsBytes);
  if (state.written.limit == 0 && state.value > 0) state.time = kNeverEnds;
  if (!bytes.done() || state.written.window <= Duration{0}) return corrupt("a bucket of wrong shape");
  return state;
}

Result<CounterState> read_window(Bytes bytes) {
  CounterState state;
  state.exists = true;
  state.time = from_us(bytes.take(kTimeBytes));
  state.value = bytes.take(kUnitsBytes);
  state.written.window = Duration{bytes.take(kTimeBytes)};
  state.written.calendar = bytes.take(1) != 0;
  if (!bytes.done() || state.written.window <= Duration{0}) return corrupt("a window of wrong shape");
  return state;
}

Result<CounterState> read_log(Bytes bytes) {
  CounterState state;
  state.exists = true;
  state.written.algorithm = Algorithm::sliding_log;
  state.time = from_us(bytes.take(kTimeBytes));
  state.written.window = Duration{bytes.take(kTimeBytes)};
  (void)bytes.take(kUnitsBytes);
  WallTime last = kLongAgo;
  while (bytes.good() && !bytes.done()) {
    const WallTime time = from_us(bytes.take(kTimeBytes));
    const core::Units units = bytes.take(kUnitsBytes);
    if (time <= last || time > state.time || units <= 0) return corrupt("entries of a log do not ascend");
    state.log.append(time, units);
    last = time;
  }
  if (!bytes.done() || state.written.window <= Duration{0}) return corrupt("a log of wrong shape");
  return state;
}

Kind kind_of(const core::Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return Kind::bucket;
    case Algorithm::sliding_log:
      return Kind::log;
    case Algorithm::fixed_window:
      break;
  }
  return limit.zone ? Kind::day : Kind::window;
}

/// The starts of the days around a time: one before it, its own, and as many after it that a caller whose
/// last answer is a day old still knows today.
std::string days_around(const Zone& zone, WallTime time) {
  constexpr int kDaysAfter = 3;
  std::string out;
  if (time == kLongAgo) return out;
  Zone::Day day = zone.day_at(zone.day_at(time).start - Duration{1});
  put(out, exact(to_us(day.start)));
  for (int i = 0; i <= kDaysAfter; ++i) {
    put(out, exact(to_us(day.end)));
    day = zone.day_at(day.end);
  }
  return out;
}

}  // namespace

Result<CounterState> read_counter_text(std::string_view text) {
  if (text.empty()) return CounterState{};
  const bool is_integer = text.find_first_not_of("0123456789", text.front() == '-') == std::string_view::npos;
  if (is_integer) return read_integer(text);
  if (text.front() != kFormat) {
    return fail(ErrorCode::newer_version, "counter in Redis: of a format that begins with byte " +
                                              std::to_string(static_cast<unsigned char>(text.front())) +
                                              "; this Dripgate reads format " + kFormat);
  }
  const Bytes bytes(text.substr(std::min<std::size_t>(text.size(), 2)));
  switch (text.size() > 1 ? text[1] : '\0') {
    case 'b':
      return read_bucket(bytes);
    case 'w':
      return read_window(bytes);
    case 'l':
      return read_log(bytes);
    default:
      return corrupt("unknown algorithm");
  }
}

std::string pack_charge(const Charge& charge, std::size_t key, WallTime around) {
  const core::Limit& limit = charge.limit;
  const Kind kind = kind_of(limit);
  std::string out{static_cast<char>(key), static_cast<char>(kind)};
  put(out, exact(charge.cost));
  put(out, exact(limit.limit));
  put(out, exact(limit.window.count()));
  put(out, exact(limit.capacity));
  if (kind == Kind::bucket) out += counter_code(limit);
  if (kind == Kind::day) out += days_around(*limit.zone, around);
  return out;
}

std::string pack_floor(WallTime floor) {
  std::string out;
  // Redis' own time is after 1970: 0 says that nothing was seen yet.
  put(out, exact(std::max<std::int64_t>(0, to_us(floor))));
  return out;
}

void add_bucket(std::string& argument, const Charge& charge, core::Units requests) {
  const core::Limit& limit = charge.limit;
  const std::int64_t full = refill_us(limit, limit.capacity);
  const auto count = static_cast<std::uint16_t>(requests);
  const std::string lifetime = std::to_string(std::max(full / 1000 + 1, kCounterKeptMin / 1ms));
  put(argument, exact(refill_us(limit, charge.cost)));
  put(argument, exact(full));
  argument.append({static_cast<char>(count & 0xff), static_cast<char>(count >> 8)});
  argument.append(counter_code(limit)).append(1, static_cast<char>(lifetime.size())).append(lifetime);
}

std::string pack_refund(const Charge& charge, WallTime consumed_at) {
  const core::Limit& limit = charge.limit;
  std::string out;
  put(out, exact(to_us(core::refundable_until(limit, charge.cost, consumed_at))));
  const bool has_window = limit.algorithm == Algorithm::fixed_window;
  put(out, has_window ? exact(to_us(core::window_start(limit, consumed_at))) : 0);
  return out;
}

}  // namespace dripgate::store
