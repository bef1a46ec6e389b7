#include "store/sqlite/file_clock.h"

#include <string>

#include "store/counter_calls.h"

namespace dripgate::store {
namespace {

const std::string kRow = std::string(1, kOwnRowPrefix) + "clock";
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr int kBytes = 8;

// Big-endian with the sign turned: the bytes compare as the times do.
std::string to_bytes(WallTime t) {
  std::uint64_t rest = static_cast<std::uint64_t>(to_us(t)) ^ kSign;
  std::string bytes(kBytes, '\0');
  for (int i = kBytes - 1; i >= 0; --i, rest >>= 8) bytes[i] = static_cast<char>(rest & 0xff);
  return bytes;
}

WallTime from_bytes(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  return from_us(static_cast<std::int64_t>(value ^ kSign));
}

}  // namespace

Result<WallTime> FileClock::now() {
  if (!read_) {
    if (auto done = read(); !done) return std::unexpected(done.error());
  }
  return clock_.now();
}

Result<void> FileClock::read() {
  sqlite::Statement& select = database_.statement("SELECT state FROM counters WHERE key = ?").bind(kRow);
  const auto found = select.step();
  if (!found) return std::unexpected(found.error());
  if (*found) {
    const std::string_view bytes = select.bytes(0);
    if (bytes.size() != kBytes)
      return fail(ErrorCode::corrupt, "counters: the row of the store's clock is damaged");
    clock_.witness(from_bytes(bytes));
    select.reset();
  }
  read_ = true;
  return {};
}

Result<void> FileClock::keep() {
  const std::string latest = to_bytes(clock_.latest());
  return database_
      .statement(
          "INSERT INTO counters (key, state, expires) VALUES (?, ?, ?) "
          "ON CONFLICT (key) DO UPDATE SET state = excluded.state WHERE excluded.state > state")
      .bind(kRow, sqlite::Blob{latest}, to_us(kNeverEnds))
      .run();
}

}  // namespace dripgate::store
