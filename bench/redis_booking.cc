// Redis CPU of a reservation behind a backlog: run time of the server's thread, for single calls and for
// batches of 32 as the store sends them, every event with its record. The control of the backlog is the same
// call behind 10^3 booked events, in the same server with the same records; of the machine, SET PX of a
// record, and a script that does nothing with 32 events but to look at their buckets and add a record of
// that size to each: what no script that remembers ids in this layout can be below. Bytes of a booked event:
// what 10^6 of them add to Redis, names and TTLs included.
#include <cstdint>

#include "compare.h"
#include "redis_wire.h"
#include "store/redis/lua/texts.h"
#include "store/redis/stores.h"

namespace dripgate::bench {
namespace {

constexpr std::uint32_t kSmall = 1'000;
constexpr std::uint32_t kLarge = 1'000'000;
constexpr std::size_t kSingles = 400;  // reservations per repeat: the machine's speed changes by the second
constexpr std::size_t kBatched = 1'600;
constexpr int kRepeats = 30;
constexpr std::size_t kTogether = 32;
constexpr std::size_t kFilledAtOnce = 64'000;
constexpr double kRatioMax = 1.1;
constexpr double kBatchedNanosecondsMax = 4'000;  // 250,000 events/s per core
constexpr double kBytesMax = 60;
constexpr std::size_t kRecordBytes = 38;

constexpr std::string_view kBare = R"(#!lua
local items, at, record = ARGV[4], 1, string.rep('r', 38)
while at <= #items do
  local _, bucket, id
  _, _, _, bucket, _, _, id, at = struct.unpack('<BBBBc8dBc0', items, at)
  redis.call('HGET', KEYS[bucket], '')
  redis.call('HSETNX', KEYS[bucket], id, record)
end
return 1)";

core::BookingPolicyPtr policy() {
  core::BookingPolicy made;
  made.limits = {{.algorithm = core::Algorithm::fixed_window,
                  .limit = 100,
                  .window = std::chrono::minutes{1},
                  .capacity = 100,
                  .zone = nullptr}};
  made.max_delay = std::chrono::hours{24 * 30};
  made.id_retention = std::chrono::hours{1};
  return std::make_shared<core::BookingPolicy>(made);
}

/// A RecordingClient whose writes end when the test says so: what was asked until then is one batch.
class HeldClient final : public redis::Client {
 public:
  using redis::Client::command;
  using redis::Client::run;
  void command(std::string_view key, redis::Words words, Duration timeout, Done<redis::Reply> done) override {
    recorder.command(key, words, timeout, std::move(done));
  }
  void run(const redis::Script& script, redis::Words keys, redis::Words arguments, Duration timeout,
           Done<redis::Reply> done) override {
    recorder.run(script, keys, arguments, timeout, std::move(done));
  }
  void each_primary(redis::Words, std::move_only_function<void(std::vector<redis::NodeReply>)>) override {}
  [[nodiscard]] std::size_t shard(std::string_view) const override { return 0; }
  [[nodiscard]] std::size_t shards() const override { return 1; }
  void when_writable(std::size_t, Task task) override { waiting_ = std::move(task); }
  void write() {
    if (auto task = std::exchange(waiting_, {})) task();
  }

  RecordingClient recorder;

 private:
  Task waiting_;
};

class Bookings {
 public:
  Bookings() {
    wire.load(store::lua::reserve);
    wire.load(kBare);
    const double before = wire.used_memory();
    book("payouts:large", kLarge);
    bytes_ = (wire.used_memory() - before) / kLarge;
    book("payouts:small", kSmall);
  }

  Comparison::Work reserves(const std::string& key, std::size_t events, std::size_t together) {
    return [this, key, events, together] {
      wire.replay(rendered(key, events, together));
      return static_cast<std::uint64_t>(events);
    };
  }
  /// The same calls of another script.
  Comparison::Work bare() {
    return [this] {
      std::vector<std::string> commands = rendered("payouts:large", kBatched, kTogether);
      const std::string from(redis::Script{store::lua::reserve}.sha1()), to(redis::Script{kBare}.sha1());
      for (std::string& command : commands) command.replace(command.find(from), from.size(), to);
      wire.replay(commands);
      return static_cast<std::uint64_t>(kBatched);
    };
  }
  Comparison::Work set_px() {
    return [this] {
      std::vector<std::string> commands;
      for (std::size_t i = 0; i < kBatched; ++i)
        commands.push_back(RecordingClient::render(
            {"SET", "{payouts}e" + id_of(next_++), std::string(kRecordBytes, 'r'), "PX", "600000"}));
      wire.replay(commands);
      return static_cast<std::uint64_t>(kBatched);
    };
  }
  [[nodiscard]] double bytes_per_event() const { return bytes_; }

  Wire wire;

 private:
  void book(const std::string& key, std::size_t events) {
    for (std::size_t done = 0; done < events; done += kFilledAtOnce)
      wire.replay(rendered(key, std::min(kFilledAtOnce, events - done), kTogether));
  }
  std::vector<std::string> rendered(const std::string& key, std::size_t events, std::size_t together) {
    HeldClient client;
    const auto bookings = store::make_redis_booking_store(client);
    for (std::size_t i = 1; i <= events; ++i) {
      bookings->reserve({.key = key,
                         .event_id = id_of(next_++),
                         .body_digest = 1,
                         .cost = 1,
                         .first_received = {},
                         .after_generation = {},
                         .policy = policy_},
                        [](auto) {});
      if (i % together == 0 || i == events) client.write();
    }
    return std::move(client.recorder.commands);
  }
  /// The odd multiplier visits every 32-bit number once, in no order: 10 characters, as "pay_902184" has.
  static std::string id_of(std::uint32_t number) {
    char text[16];
    std::snprintf(text, sizeof text, "pz%08x", number * 2654435761u);
    return text;
  }

  core::BookingPolicyPtr policy_ = policy();
  std::uint32_t next_ = 0;
  double bytes_ = 0;
};

int run(int argc, char** argv) {
  Bookings bookings;
  Comparison table("redis_booking", argc, argv, [&] { return bookings.wire.server_nanoseconds(); });
  table.add("SET PX", bookings.set_px());
  table.add("one, 10^3 booked", bookings.reserves("payouts:small", kSingles, 1));
  table.add("one, 10^6 booked", bookings.reserves("payouts:large", kSingles, 1));
  table.add("32 per call, 10^3 booked", bookings.reserves("payouts:small", kBatched, kTogether));
  table.add("32 per call, 10^6 booked", bookings.reserves("payouts:large", kBatched, kTogether));
  table.add("32 per call, bare", bookings.bare());
  table.repeat_at_least(kRepeats);
  table.run();
  for (const char* control : {"SET PX", "32 per call, bare"})
    std::printf("of 32 per call one is %.2fx %s\n", table.ratio("32 per call, 10^6 booked", control),
                control);
  table.expect_ratio("one, 10^6 booked", "one, 10^3 booked", kRatioMax);
  table.expect_ratio("32 per call, 10^6 booked", "32 per call, 10^3 booked", kRatioMax);
  table.expect_at_most("32 per call, 10^6 booked", kBatchedNanosecondsMax);
  table.judge("Redis per booked event", bookings.bytes_per_event(), kBytesMax, "B");
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
