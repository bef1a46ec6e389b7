#include "capacity/bench.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "capacity/accuracy.h"
#include "capacity/connections.h"
#include "capacity/drive.h"
#include "capacity/keys.h"
#include "capacity/load.h"
#include "capacity/servers.h"

namespace dripgate::capacity {
namespace {

constexpr std::array kPercents{25, 50, 100};
constexpr std::array kAlgorithms{core::Algorithm::token_bucket, core::Algorithm::sliding_log,
                                 core::Algorithm::fixed_window};
/// While somebody is to end a primary: from one answer to the next question.
constexpr Duration kLossLookEvery = 50ms;

/// Redis gives back what its clients' buffers held, and counts them, about once a second.
constexpr Duration kSettle = 1500ms;

/// Short, as the memory of a key is measured with it.
std::string own_prefix(const std::string& of_deployment) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device entropy;
  std::string prefix = of_deployment + "b";
  for (int i = 0; i < 4; ++i) prefix += kDigits[entropy() % kDigits.size()];
  return prefix + ":";
}

class Bench {
 public:
  Bench(net::IoLoop& loop, const BenchOptions& options, Connections& sites)
      : loop_(loop),
        options_(options),
        sites_(sites),
        keys_(options.keys, sites.client()),
        load_(loop, sites, keys_, options) {}

  Result<BenchResult> run() {
    auto measured = measure();
    say("removing its keys");
    const std::size_t left = load_.remove_all();
    if (measured) measured->keys_left = left;
    return measured;
  }

 private:
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  Result<BenchResult> measure() {
    BenchResult result;
    result.connections = options_.connections;
    result.clients = options_.clients;
    result.keys = keys_.size();
    result.peak = options_.peak;
    const ServerUse before = settled_use();
    result.primaries = before.nodes;
    say("making " + std::to_string(keys_.size()) + " keys");
    if (!load_.touch_all())
      return fail(ErrorCode::unavailable, "the keys could not be made: Redis refuses or is too slow", true);
    const ServerUse after = settled_use();
    if (before.memory && after.memory)
      result.bytes_per_key =
          std::max(0.0, *after.memory - *before.memory) / static_cast<double>(keys_.size());
    say("as many calls as it answers");
    result.saturation = load_.run(0, options_.peak);
    result.steps = steps();
    for (const core::Algorithm algorithm : kAlgorithms) {
      say(std::to_string(options_.clients) + " clients, one key");
      result.accuracy.push_back(measure_accuracy(loop_, sites_, options_.clients, algorithm));
    }
    const double cost = result.saturation.redis_us_per_call;
    if (cost > 0) result.plan = shards_for(options_.load, cost, result.bytes_per_key);
    if (options_.await_loss) {
      auto outage = after_a_loss(result.primaries);
      if (!outage) return std::unexpected(std::move(outage.error()));
      result.outage = std::move(*outage);
    }
    return result;
  }

  ServerUse settled_use() {
    loop_.run_for(kSettle);
    return ask_use(loop_, sites_.client());
  }

  std::vector<Step> steps() {
    std::vector<Step> all;
    for (const int percent : kPercents) {
      say(std::to_string(percent) + " % of " + std::to_string(options_.peak) + " calls/s");
      all.push_back(load_.run(percent, options_.peak));
    }
    return all;
  }

  Result<Outage> after_a_loss(const std::vector<std::string>& primaries) {
    say("end one primary now (" + (primaries.empty() ? "" : primaries.front()) +
        ", for example); waiting for " + std::to_string(*options_.await_loss / 1s) + " s");
    auto lost = wait_for_loss();
    if (!lost) return std::unexpected(std::move(lost.error()));
    const MonoTime since = loop_.now();
    Outage outage{.node = std::move(*lost)};
    say(outage.node + " is away");
    std::vector<std::optional<MonoTime>> back(keys_.homes());
    for (const int percent : kPercents) {
      say(std::to_string(percent) + " % with " + outage.node + " lost");
      outage.steps.push_back(load_.run(percent, options_.peak));
      for (std::size_t home = 0; home < back.size(); ++home)
        if (!back[home]) back[home] = load_.first_answers()[home];
    }
    const auto last = std::ranges::max_element(back);
    if (std::ranges::all_of(back, [](const auto& time) { return time.has_value(); }))
      outage.back_after = **last - since;
    return outage;
  }

  Result<std::string> wait_for_loss() {
    const MonoTime end = loop_.now() + *options_.await_loss;
    while (loop_.now() < end) {
      const ServerUse use = ask_use(loop_, sites_.client());
      if (!use.silent.empty()) return use.silent.front();
      loop_.run_for(kLossLookEvery);
    }
    return fail(ErrorCode::timed_out, "every primary still answers; end one of them within --await-loss");
  }

  net::IoLoop& loop_;
  const BenchOptions& options_;
  Connections& sites_;
  Keys keys_;
  LoadMaker load_;
};

}  // namespace

Result<BenchResult> run_bench(net::IoLoop& loop, BenchOptions options) {
  if (options.peak == 0) options.peak = static_cast<std::int64_t>(options.load.calls_per_second());
  options.redis.timeout = kCallTimeout;
  const store::RedisStoreOptions store{.key_prefix = own_prefix(options.key_prefix),
                                       .cluster = options.redis.layout == redis::Options::Layout::cluster};
  if (options.progress) options.progress("connecting");
  auto sites = Connections::open(loop, options.redis, store, std::max(options.connections, options.clients));
  if (!sites) return std::unexpected(std::move(sites.error()));
  Bench bench(loop, options, *sites);
  Result<BenchResult> result = bench.run();
  // What still waits is answered before bench and connections go.
  loop.run_for(kCallTimeout);
  return result;
}

}  // namespace dripgate::capacity
