// Redis CPU per decision of the counter scripts against the naive script (TIME, HMGET, HSET, PEXPIRE) and SET
// PX of the same run: run time of the server's thread, 16 commands per write, 100,000 keys in random order.
// The scripts get what the store sends. Memory of a bucket in the documented key format and of a log's
// entry.
#include <random>

#include "compare.h"
#include "redis_wire.h"
#include "store/redis/counter_scripts.h"
#include "store/redis/lua/texts.h"

namespace dripgate::bench {
namespace {

using store::BucketCall;
using store::Charge;
using store::Charges;
using store::CounterScripts;

constexpr std::size_t kKeys = 100'000;
constexpr std::size_t kDecisions = 16'000;  // of each subject, again and again
constexpr std::size_t kAtOnce = 1'600;      // of one repeat: the machine's speed changes by the second
constexpr int kRepeats = 50;
constexpr std::size_t kTogether = 32;
constexpr std::size_t kMemoryKeys = 250'000;
constexpr std::size_t kLogEntries = 1000;

constexpr std::string_view kNaive = R"(
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local rate, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local allowed, left = 1, {}
for i = 1, #KEYS do
  local state = redis.call('HMGET', KEYS[i], 'tokens', 'ts')
  local tokens, ts = tonumber(state[1]) or capacity, tonumber(state[2]) or now
  tokens = math.min(capacity, tokens + math.max(0, now - ts) * rate)
  if tokens < 1 then allowed = 0 end
  left[i] = tokens
end
for i = 1, #KEYS do
  if allowed == 1 then left[i] = left[i] - 1 end
  redis.call('HSET', KEYS[i], 'tokens', left[i], 'ts', now)
  redis.call('PEXPIRE', KEYS[i], math.ceil(capacity / rate * 1000))
end
return {allowed, math.floor(left[1]), tostring(left[1])}
)";

core::Limit limit_of(core::Algorithm algorithm, core::Units limit, Duration window, core::Units capacity) {
  return {.algorithm = algorithm, .limit = limit, .window = window, .capacity = capacity, .zone = nullptr};
}
const core::Limit kBucket = limit_of(core::Algorithm::token_bucket, 100, 1h, 20);  // nothing expires in a run
const core::Limit kWindow = limit_of(core::Algorithm::fixed_window, 100, 1h, 100);
const core::Limit kLog = limit_of(core::Algorithm::sliding_log, 10, 1h, 10);

class Subjects {
 public:
  Subjects() {
    for (const std::string_view script : {store::lua::consume, store::lua::consume_bucket,
                                          store::lua::consume_pair, store::lua::consume_buckets, kNaive})
      wire.load(script);
  }

  std::string key(const char* policy) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>((random_() % kKeys) * 0x9e3779b97f4a7c15ull));
    return std::string("rl:{t:acme}:") + policy + ":k:" + digits;
  }

  /// `make` is called until `decisions` of `each` are rendered; then the replays are measured, part by part.
  template <class Make>
  Comparison::Work replays(std::size_t each, Make make) {
    RecordingClient recorder;
    CounterScripts scripts(recorder, {});
    while (recorder.commands.size() * each < kDecisions) make(recorder, scripts);
    return [this, commands = std::move(recorder.commands), each, next = std::size_t{0}]() mutable {
      const std::size_t count = kAtOnce / each;
      if (next + count > commands.size()) next = 0;
      wire.replay(std::span(commands).subspan(std::exchange(next, next + count), count));
      return static_cast<std::uint64_t>(count * each);
    };
  }

  Comparison::Work set_px() {
    return replays(1, [&](RecordingClient& recorder, CounterScripts&) {
      const std::string name = key("set");
      recorder.commands.push_back(RecordingClient::render({"SET", name, "1800000000000000", "PX", "12001"}));
    });
  }
  Comparison::Work naive(std::size_t keys) {
    return replays(1, [this, keys](RecordingClient& recorder, CounterScripts&) {
      static const redis::Script script{kNaive};
      const std::string first = key("naive"), second = key("naive-too");
      const std::vector<std::string_view> names{first, second};
      const std::vector<std::string_view> numbers{"0.027777777777777776", "20"};
      recorder.run(script, std::span(names).first(keys), numbers, Duration{0}, {});
    });
  }
  Comparison::Work bucket() {
    return replays(1, [this](RecordingClient&, CounterScripts& scripts) {
      const Charge charge{.key = key("api-free"), .limit = kBucket};
      const BucketCall call{.charge = &charge};
      scripts.consume_buckets({&call, 1}, CounterScripts::Mode::each, {});
    });
  }
  Comparison::Work two_keys() {
    return replays(1, [this](RecordingClient&, CounterScripts& scripts) {
      const Charge first{.key = key("api-free"), .limit = kBucket};
      const Charge second{.key = key("ceiling"), .limit = kBucket};
      const BucketCall calls[]{{.charge = &first}, {.charge = &second}};
      scripts.consume_buckets(calls, CounterScripts::Mode::all, {});
    });
  }
  Comparison::Work many_keys() {
    return replays(kTogether, [this](RecordingClient&, CounterScripts& scripts) {
      Charges charges;
      for (std::size_t i = 0; i < kTogether; ++i)
        charges.push_back({.key = key("api-free"), .limit = kBucket});
      std::vector<BucketCall> calls;
      for (const Charge& charge : charges) calls.push_back({.charge = &charge});
      scripts.consume_buckets(calls, CounterScripts::Mode::each, {});
    });
  }
  Comparison::Work hot_key() {
    return replays(kTogether, [](RecordingClient&, CounterScripts& scripts) {
      const Charge charge{.key = "rl:{t:acme}:api-free:k:hot",
                          .limit = limit_of(core::Algorithm::token_bucket, 100'000, 1s, 100'000)};
      const BucketCall call{.charge = &charge, .requests = kTogether};
      scripts.consume_buckets({&call, 1}, CounterScripts::Mode::each, {});
    });
  }
  Comparison::Work generic(const char* policy, const core::Limit& limit) {
    return replays(1, [this, policy, limit](RecordingClient&, CounterScripts& scripts) {
      scripts.consume(std::make_shared<const Charges>(Charges{{.key = key(policy), .limit = limit}}), 1, {});
    });
  }

  double bytes_per_bucket() {
    (void)wire.ask({"FLUSHALL"});
    const double before = wire.used_memory();
    RecordingClient recorder;
    CounterScripts scripts(recorder, {});
    for (std::size_t i = 0; i < kMemoryKeys; ++i) {
      char digits[17];
      std::snprintf(digits, sizeof digits, "%016zx", i);
      // 200 units of the limit: it lives long enough to be counted.
      const Charge charge{.key = std::string("rl:{t:acme}:api-free:k:") + digits,
                          .limit = limit_of(core::Algorithm::token_bucket, 100, 60s, 5000)};
      const BucketCall call{.charge = &charge};
      scripts.consume_buckets({&call, 1}, CounterScripts::Mode::each, {});
    }
    wire.replay(recorder.commands);
    return (wire.used_memory() - before) / static_cast<double>(kMemoryKeys);
  }
  double bytes_per_entry() {
    const Charge charge{.key = "rl:{t:acme}:log:k:one",
                        .limit = limit_of(core::Algorithm::sliding_log, kLogEntries, 3600s, kLogEntries)};
    RecordingClient recorder;
    CounterScripts scripts(recorder, {});
    for (std::size_t i = 0; i < kLogEntries; ++i)
      scripts.consume(std::make_shared<const Charges>(Charges{charge}), 1, {});
    wire.replay(recorder.commands);
    return std::strtod(wire.ask({"MEMORY", "USAGE", charge.key}).c_str(), nullptr) / kLogEntries;
  }

  Wire wire;

 private:
  std::mt19937_64 random_{42};
};

int run(int argc, char** argv) {
  Subjects subjects;
  Comparison table("redis_counters", argc, argv, [&] { return subjects.wire.server_nanoseconds(); });
  table.add("SET PX", subjects.set_px());
  table.add("naive", subjects.naive(1));
  table.add("naive, two keys", subjects.naive(2));
  table.add("bucket", subjects.bucket());
  table.add("two buckets, all or nothing", subjects.two_keys());
  table.add("32 buckets per call", subjects.many_keys());
  table.add("hot key, 32 per call", subjects.hot_key());
  table.add("generic, bucket",
            subjects.generic("generic", limit_of(core::Algorithm::token_bucket, 7, 4000s, 20)));
  table.add("generic, window", subjects.generic("window", kWindow));
  table.add("generic, log of 10", subjects.generic("log", kLog));
  table.repeat_at_least(kRepeats);
  table.run();
  std::printf("naive is %.2fx SET PX\n", table.ratio("naive", "SET PX"));
  table.expect_ratio("bucket", "naive", 0.70);
  table.expect_ratio("two buckets, all or nothing", "naive, two keys", 0.62);
  table.expect_ratio("32 buckets per call", "naive", 0.45);
  table.expect_ratio("hot key, 32 per call", "naive", 0.05);
  table.expect_ratio("generic, bucket", "naive", 1.0);
  table.expect_ratio("generic, window", "naive", 1.0);
  table.expect_ratio("generic, log of 10", "naive", 1.0);
  table.judge("Redis per token-bucket key", subjects.bytes_per_bucket(), 160, "B");
  table.judge("Redis per sliding-log entry", subjects.bytes_per_entry(), 16, "B");
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
