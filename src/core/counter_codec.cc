// CounterState as bytes: format digit '1', algorithm, calendar flag, then little-endian 64-bit numbers:
// limit, window, capacity, time, value, and (time, units) of every log entry up to the end.
#include <bit>
#include <cstring>

#include "base/limits.h"
#include "core/counter.h"

namespace dripgate::core {
namespace {

constexpr char kFormat = '1';
constexpr std::size_t kHeadBytes = 3;
constexpr std::size_t kNumbers = 5;
constexpr std::size_t kNumberBytes = sizeof(std::int64_t);
static_assert(std::endian::native == std::endian::little, "the codec copies numbers as they are in memory");

void put(std::string& out, std::int64_t number) {
  char bytes[kNumberBytes];
  std::memcpy(bytes, &number, kNumberBytes);
  out.append(bytes, kNumberBytes);
}

std::int64_t take(std::string_view& in) {
  std::int64_t number = 0;
  std::memcpy(&number, in.data(), kNumberBytes);
  in.remove_prefix(kNumberBytes);
  return number;
}

std::unexpected<Error> corrupt(const char* what) {
  return fail(ErrorCode::corrupt, std::string("counter state: ") + what);
}

Result<void> read_log(std::string_view in, CounterState& state) {
  WallTime last = kLongAgo;
  while (!in.empty()) {
    const WallTime time = from_us(take(in));
    const Units units = take(in);
    if (time <= last || units <= 0) return corrupt("log entries must ascend and hold at least one unit");
    if (units > kExactIntegerMax - state.log.total()) return corrupt("more units than any limit admits");
    state.log.append(time, units);
    last = time;
  }
  if (last > state.time) return corrupt("the log is newer than its last admission");
  return {};
}

}  // namespace

std::string encode(const CounterState& state) {
  std::string out;
  if (!state.exists) return out;
  out.reserve(kHeadBytes + kNumberBytes * (kNumbers + 2 * state.log.entries().size()));
  out += kFormat;
  out += static_cast<char>(state.written.algorithm);
  out += static_cast<char>(state.written.calendar);
  for (const std::int64_t number : {state.written.limit, std::int64_t{state.written.window.count()},
                                    state.written.capacity, to_us(state.time), state.value})
    put(out, number);
  for (const RunLog::Entry& entry : state.log.entries()) {
    put(out, to_us(entry.time));
    put(out, entry.units);
  }
  return out;
}

Result<CounterState> decode_counter(std::string_view bytes) {
  CounterState state;
  if (bytes.empty()) return state;
  if (bytes[0] > kFormat && bytes[0] <= '9')
    return fail(ErrorCode::newer_version, std::string("counter state of format ") + bytes[0] +
                                              "; this Dripgate reads up to " + kFormat);
  if (bytes[0] != kFormat) return corrupt("unknown format digit");
  if (bytes.size() < kHeadBytes + kNumbers * kNumberBytes ||
      (bytes.size() - kHeadBytes - kNumbers * kNumberBytes) % (2 * kNumberBytes) != 0)
    return corrupt("wrong length");
  if (static_cast<unsigned char>(bytes[1]) > static_cast<unsigned char>(Algorithm::token_bucket) ||
      static_cast<unsigned char>(bytes[2]) > 1)
    return corrupt("unknown algorithm");
  state.exists = true;
  state.written.algorithm = static_cast<Algorithm>(bytes[1]);
  state.written.calendar = bytes[2] != 0;
  std::string_view in = bytes.substr(kHeadBytes);
  state.written.limit = take(in);
  state.written.window = Duration{take(in)};
  state.written.capacity = take(in);
  state.time = from_us(take(in));
  state.value = take(in);
  if (state.written.limit < 0 || state.written.window <= Duration{0} ||
      state.written.window > kNeverEnds.time_since_epoch() || state.written.capacity < 0 || state.value < 0 ||
      state.time < kLongAgo || state.time > kNeverEnds)
    return corrupt("a number is out of range");
  if (!in.empty() && state.written.algorithm != Algorithm::sliding_log)
    return corrupt("only a sliding log has entries");
  if (auto read = read_log(in, state); !read) return std::unexpected(read.error());
  return state;
}

}  // namespace dripgate::core
