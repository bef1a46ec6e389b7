#include "store/redis/counter_code.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dripgate::store {
namespace {

using namespace std::chrono_literals;
using core::Units;

constexpr std::array<Units, 50> kUnits{
    1,   2,    3,    4,    5,    6,    8,    10,   12,   15,   16,   20,    24,    25,    30,    32,    40,
    50,  60,   64,   75,   80,   100,  120,  125,  150,  200,  240,  250,   300,   400,   500,   600,   750,
    800, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 7500, 10000, 20000, 25000, 50000, 100000};
constexpr std::array<Duration, 4> kWindows{1s, 1min, 1h, 24h};
constexpr std::size_t kDigits = 4;
constexpr std::size_t kPairs = kUnits.size() * kUnits.size();
static_assert(kPairs * kWindows.size() == 10'000, "a code has four digits");

/// The place of `value`, or the table's size.
template <class Table>
std::size_t place(const Table& table, typename Table::value_type value) {
  const auto found = std::lower_bound(table.begin(), table.end(), value);
  return found != table.end() && *found == value ? static_cast<std::size_t>(found - table.begin())
                                                 : table.size();
}

}  // namespace

std::string counter_code(const core::Limit& limit) {
  if (limit.algorithm != core::Algorithm::token_bucket) return {};
  const std::size_t window = place(kWindows, limit.window);
  const std::size_t refill = place(kUnits, limit.limit);
  const std::size_t capacity = place(kUnits, limit.capacity);
  if (window == kWindows.size() || refill == kUnits.size() || capacity == kUnits.size() ||
      limit.window.count() % limit.limit != 0)
    return {};
  std::string digits = std::to_string(window * kPairs + refill * kUnits.size() + capacity);
  return std::string(kDigits - digits.size(), '0') + digits;
}

std::optional<core::WrittenUnder> numbers_of_code(std::string_view code) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
  if (error != std::errc{} || end != code.data() + code.size() || code.size() != kDigits) return std::nullopt;
  const std::size_t pair = number % kPairs;
  return core::WrittenUnder{.algorithm = core::Algorithm::token_bucket,
                            .limit = kUnits[pair / kUnits.size()],
                            .window = kWindows[number / kPairs],
                            .capacity = kUnits[pair % kUnits.size()]};
}

}  // namespace dripgate::store
