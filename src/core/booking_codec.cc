// Bytes of a key's state and of an event's record: version, body of variable-length integers, checksum.
// Read by backends only through decode_*, which refuses what it has not written.
#include <limits>

#include "base/checked.h"
#include "core/booking.h"

namespace dripgate::core {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCheckBytes = 4;
// What a sliding log may hold is bounded by its limit; a length above this cannot be real.
constexpr std::uint64_t kLogEntriesMax = 1u << 24;

enum class Kind : std::uint8_t { state = 0x53, record = 0x45 };

/// FNV-1a, started with the kind so that a record is not taken for a state.
std::uint32_t checksum(Kind kind, std::string_view bytes) {
  std::uint32_t hash = 0x811c9dc5u ^ static_cast<std::uint8_t>(kind);
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x01000193u;
  return hash;
}

class Writer {
 public:
  explicit Writer(Kind kind) : kind_(kind) { bytes_.push_back(static_cast<char>(kVersion)); }

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void time(WallTime value) { signed_number(to_us(value)); }

  [[nodiscard]] std::string finish() && {
    const std::uint32_t check = checksum(kind_, bytes_);
    for (std::size_t i = 0; i < kCheckBytes; ++i) bytes_.push_back(static_cast<char>(check >> (8 * i)));
    return std::move(bytes_);
  }

 private:
  Kind kind_;
  std::string bytes_;
};

/// Reads what a Writer wrote. After a failure everything reads as 0 and `failed` stays true.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  WallTime time() { return from_us(signed_number()); }

  template <class Integer>
  Integer bounded(std::uint64_t max = std::numeric_limits<Integer>::max()) {
    const std::uint64_t value = number();
    if (value > max) failed_ = true;
    return failed_ ? Integer{} : static_cast<Integer>(value);
  }
  template <class Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(bounded<std::uint8_t>(static_cast<std::uint8_t>(last)));
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// The body between version and checksum.
Result<std::string_view> open(Kind kind, std::string_view bytes, const char* what) {
  const std::string name = what;
  if (bytes.size() < 1 + kCheckBytes)
    return fail(ErrorCode::corrupt, name + ": " + std::to_string(bytes.size()) + " bytes are too few");
  const auto version = static_cast<std::uint8_t>(bytes.front());
  if (version != kVersion)
    return fail(version > kVersion ? ErrorCode::newer_version : ErrorCode::corrupt,
                name + ": format " + std::to_string(version) + "; this Dripgate reads format " +
                    std::to_string(kVersion));
  const std::string_view checked = bytes.substr(0, bytes.size() - kCheckBytes);
  std::uint32_t stored = 0;
  for (std::size_t i = 0; i < kCheckBytes; ++i)
    stored |= std::uint32_t{static_cast<std::uint8_t>(bytes[checked.size() + i])} << (8 * i);
  if (stored != checksum(kind, checked))
    return fail(ErrorCode::corrupt, name + ": the checksum does not match the bytes");
  return checked.substr(1);
}

void write(Writer& out, const Holding& holding) {
  out.time(holding.at);
  out.signed_number(holding.units);
  out.number(holding.log.size());
  WallTime previous = from_us(0);
  for (const LogEntry& entry : holding.log) {
    out.signed_number((entry.at - previous).count());
    out.signed_number(entry.units);
    previous = entry.at;
  }
}

Holding read_holding(Reader& in) {
  Holding holding;
  holding.at = in.time();
  holding.units = in.signed_number();
  const auto entries = in.bounded<std::size_t>(kLogEntriesMax);
  WallTime previous = from_us(0);
  for (std::size_t i = 0; i < entries && !in.failed(); ++i) {
    const WallTime at = from_us(saturating_add(to_us(previous), in.signed_number()));
    holding.log.push_back({at, in.signed_number()});
    previous = at;
  }
  return holding;
}

void write(Writer& out, const Cursor& cursor) {
  out.time(cursor.at);
  for (const Holding& holding : cursor.holdings) write(out, holding);
}

Cursor read_cursor(Reader& in, std::size_t limits) {
  Cursor cursor;
  cursor.at = in.time();
  for (std::size_t i = 0; i < limits; ++i) cursor.holdings.push_back(read_holding(in));
  return cursor;
}

}  // namespace

std::string encode(const KeyState& state) {
  Writer out(Kind::state);
  out.time(state.last_seen);
  out.time(state.frozen_until);
  out.time(state.unknown_until);
  out.number(state.epoch);
  out.number(state.leak);
  out.time(state.leak_since);
  out.signed_number(state.pending_old);
  out.signed_number(state.pending_new);
  out.number(static_cast<std::uint8_t>(state.repair_kind));
  out.number(state.prints.size());
  for (const LimitPrint& print : state.prints) {
    out.number(print.shape);
    out.signed_number(print.limit);
  }
  for (const Holding& holding : state.released) write(out, holding);
  write(out, state.tail);
  if (state.repair_kind != RepairKind::none) write(out, state.repair);
  return std::move(out).finish();
}

Result<KeyState> decode_state(std::string_view bytes) {
  const auto body = open(Kind::state, bytes, "key state");
  if (!body) return std::unexpected(body.error());
  Reader in(*body);
  KeyState state;
  state.last_seen = in.time();
  state.frozen_until = in.time();
  state.unknown_until = in.time();
  state.epoch = in.bounded<std::uint32_t>();
  state.leak = in.bounded<std::uint32_t>();
  state.leak_since = in.time();
  state.pending_old = in.signed_number();
  state.pending_new = in.signed_number();
  state.repair_kind = in.choice(RepairKind::crossing);
  const auto limits = in.bounded<std::size_t>(kLimitsPerPolicyMax);
  for (std::size_t i = 0; i < limits; ++i) {
    const std::uint64_t shape = in.number();
    state.prints.push_back({shape, in.signed_number()});
  }
  for (std::size_t i = 0; i < limits; ++i) state.released.push_back(read_holding(in));
  state.tail = read_cursor(in, limits);
  if (state.repair_kind != RepairKind::none) state.repair = read_cursor(in, limits);
  if (!in.complete()) return fail(ErrorCode::corrupt, "key state: the bytes do not add up to a state");
  return state;
}

std::string encode(const EventRecord& record) {
  Writer out(Kind::record);
  out.number(static_cast<std::uint8_t>(record.state));
  out.number(record.generation);
  out.time(record.slot);
  out.signed_number(record.cost);
  out.time(record.first_received);
  out.number(record.body_digest);
  out.number(record.epoch);
  out.number(record.leak);
  out.number(record.via_repair ? 1 : 0);
  out.number(record.repairs);
  out.number(record.lease_waits);
  return std::move(out).finish();
}

Result<EventRecord> decode_record(std::string_view bytes) {
  const auto body = open(Kind::record, bytes, "event record");
  if (!body) return std::unexpected(body.error());
  Reader in(*body);
  EventRecord record;
  record.state = in.choice(EventState::dead_letter);
  record.generation = in.bounded<std::uint32_t>();
  record.slot = in.time();
  record.cost = in.signed_number();
  record.first_received = in.time();
  record.body_digest = in.number();
  record.epoch = in.bounded<std::uint32_t>();
  record.leak = in.bounded<std::uint32_t>();
  record.via_repair = in.bounded<std::uint8_t>(1) == 1;
  record.repairs = in.bounded<std::uint8_t>();
  record.lease_waits = in.bounded<std::uint8_t>();
  if (!in.complete()) return fail(ErrorCode::corrupt, "event record: the bytes do not add up to a record");
  return record;
}

}  // namespace dripgate::core
