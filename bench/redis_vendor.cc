// Redis CPU of an acquire from a vendor key against the check of a counter with the same limit, in the same
// run: run time of the server's thread, 16 commands per write, 20,000 keys in random order. Both are what
// the store sends. A key of the vendor has a handful of calls in flight: nobody observes here.
#include <random>

#include "compare.h"
#include "redis_wire.h"
#include "store/redis/counter_scripts.h"
#include "store/redis/lua/texts.h"
#include "store/redis/stores.h"

namespace dripgate::bench {
namespace {

constexpr std::size_t kKeys = 20'000;
constexpr std::size_t kCalls = 16'000;  // of each subject, again and again
constexpr std::size_t kAtOnce = 1'600;  // of one repeat: the machine's speed changes by the second
constexpr int kRepeats = 50;

core::Limit limit_of(core::Algorithm algorithm) {
  // Never short of room, and no new window within a run: those are other matters.
  if (algorithm == core::Algorithm::token_bucket)
    return {.algorithm = algorithm, .limit = 100'000, .window = 1s, .capacity = 100'000, .zone = nullptr};
  return {.algorithm = algorithm, .limit = 10'000'000, .window = 1h, .capacity = 10'000'000, .zone = nullptr};
}

class Subjects {
 public:
  Subjects() {
    for (const std::string_view script :
         {store::lua::consume, store::lua::consume_bucket, store::lua::consume_buckets,
          store::lua::consume_pair, store::lua::vendor_acquire})
      wire.load(script);
  }

  template <class Make>
  Comparison::Work replays(Make make) {
    RecordingClient recorder;
    while (recorder.commands.size() < kCalls) make(recorder);
    wire.replay(recorder.commands);  // keys that are in use
    return [this, commands = std::move(recorder.commands), next = std::size_t{0}]() mutable {
      if (next + kAtOnce > commands.size()) next = 0;
      wire.replay(std::span(commands).subspan(std::exchange(next, next + kAtOnce), kAtOnce));
      return static_cast<std::uint64_t>(kAtOnce);
    };
  }

  Comparison::Work acquire(const std::string& vendor, std::vector<core::Limit> limits) {
    auto policy = std::make_shared<core::VendorPolicy>();
    policy->limits = std::move(limits);
    policy->lease = 1h;  // nothing of it is over within a run
    return replays([this, policy, vendor](RecordingClient& recorder) {
      const auto vendors = store::make_redis_vendor_store(recorder, {});
      vendors->acquire({.key = vendor + ":" + number(), .policy = policy, .costs = {1, 1}},
                       [](const auto&) {});
    });
  }
  Comparison::Work check(core::Algorithm algorithm) {
    return replays([this, algorithm](RecordingClient& recorder) {
      store::CounterScripts scripts(recorder, {});
      const store::Charge charge{
          .key = "rl:{t:acme}:" + std::string(algorithm == core::Algorithm::token_bucket ? "api" : "old") +
                 ":k:" + number(),
          .limit = limit_of(algorithm)};
      if (algorithm == core::Algorithm::token_bucket) {
        const store::BucketCall call{.charge = &charge};
        return scripts.consume_buckets({&call, 1}, store::CounterScripts::Mode::each, {});
      }
      scripts.consume(std::make_shared<const store::Charges>(store::Charges{charge}), 1, {});
    });
  }
  Comparison::Work check_two_buckets() {
    return replays([this](RecordingClient& recorder) {
      store::CounterScripts scripts(recorder, {});
      const std::string key = "rl:{t:acme}:pair:k:" + number();
      const core::Limit bucket = limit_of(core::Algorithm::token_bucket);
      const store::Charge one{.key = key + ":a", .limit = bucket}, two{.key = key + ":b", .limit = bucket};
      const store::BucketCall calls[] = {{.charge = &one}, {.charge = &two}};
      scripts.consume_buckets(calls, store::CounterScripts::Mode::all, {});
    });
  }

  Wire wire;

 private:
  std::string number() { return std::to_string(random_() % kKeys); }
  std::mt19937_64 random_{42};
};

int run(int argc, char** argv) {
  using core::Algorithm;
  Subjects subjects;
  Comparison table("redis_vendor", argc, argv, [&] { return subjects.wire.server_nanoseconds(); });
  const core::Limit window = limit_of(Algorithm::fixed_window), bucket = limit_of(Algorithm::token_bucket);
  table.add("check, window", subjects.check(Algorithm::fixed_window));
  table.add("check, bucket", subjects.check(Algorithm::token_bucket));
  table.add("check, two buckets", subjects.check_two_buckets());
  table.add("acquire, window", subjects.acquire("one", {window}));
  table.add("acquire, bucket", subjects.acquire("two", {bucket}));
  table.add("acquire, two buckets", subjects.acquire("three", {bucket, bucket}));
  table.repeat_at_least(kRepeats);
  table.run();
  table.expect_ratio("acquire, window", "check, window", 1.1);
  std::printf("acquire, bucket is %.2fx, of two buckets %.2fx the check of as many on their fast path\n",
              table.ratio("acquire, bucket", "check, bucket"),
              table.ratio("acquire, two buckets", "check, two buckets"));
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
