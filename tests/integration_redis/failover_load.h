// Pods that check without a pause, each with a FailoverStore and a client of its own, on one loop; for the
// tests of a failover under load. Counts what callers were told, so that it can be set against what the store
// knows.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/io_loop.h"
#include "redis/make_client.h"
#include "store/failover/failover_store.h"
#include "store/redis/stores.h"
#include "support/steady_clock.h"

namespace dripgate::testing {

class FailoverLoad {
 public:
  static constexpr int kPods = 4;
  static constexpr int kCallers = 3;  // of a pod and key
  static constexpr core::Units kSmall = 200, kLarge = 1'000'000;

  /// One key of the load: its limit is for a year, so that nothing comes back while it runs.
  struct Key {
    std::string name;
    core::FailureMode mode;
    core::Units limit;
    // What callers were told.
    core::Units by_store = 0, by_share = 0, by_mode = 0, unavailable = 0;
    core::Units denied = 0;  // by the store
    int errors = 0;
    [[nodiscard]] core::Units degraded() const { return by_share + by_mode + unavailable; }
    [[nodiscard]] core::Units answers() const { return degraded() + by_store + denied; }
  };

  FailoverLoad(const redis::Options& options, const std::vector<std::string>& tags) {
    using core::FailureMode;
    for (const std::string& tag : tags) {
      for (const auto& [word, mode] :
           {std::pair{"open", FailureMode::open}, std::pair{"local", FailureMode::local},
            std::pair{"closed", FailureMode::closed}}) {
        for (const core::Units limit : {kSmall, kLarge})
          keys.push_back({.name = "rl:{" + tag + "}:" + word + ":" + std::to_string(limit),
                          .mode = mode,
                          .limit = limit});
      }
    }
    const bool cluster = options.layout == redis::Options::Layout::cluster;
    for (int i = 0; i < kPods; ++i) pods_.push_back(std::make_unique<Pod>(loop, options, cluster));
  }
  ~FailoverLoad() {
    stop();
    pods_.clear();
    loop.run_for(std::chrono::milliseconds{1});  // the closes run
  }
  FailoverLoad(const FailoverLoad&) = delete;
  FailoverLoad& operator=(const FailoverLoad&) = delete;

  void start() {
    for (const auto& pod : pods_)
      for (Key& key : keys)
        for (int caller = 0; caller < kCallers; ++caller) ask(*pod, key);
  }
  /// Callers end with their next answer.
  void stop() { stopped_ = true; }

  template <class Holds>
  bool until(Holds holds, std::chrono::milliseconds patience = std::chrono::milliseconds{60'000}) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_for(std::chrono::milliseconds{1});
    }
    return true;
  }
  [[nodiscard]] static store::Charge charge(const Key& key) {
    return {.key = key.name,
            .limit = {.algorithm = core::Algorithm::fixed_window,
                      .limit = key.limit,
                      .window = std::chrono::hours{24 * 365},
                      .capacity = key.limit,
                      .zone = nullptr}};
  }
  /// Units that the store counts as used; -1: it did not say.
  core::Units used(const Key& key) {
    std::optional<core::Units> units;
    pods_.front()->counters->inspect(charge(key), [&](Result<store::CounterView> view) {
      units = view ? key.limit - view->outcome.remaining : -1;
    });
    until([&] { return units.has_value(); });
    return units.value_or(-1);
  }
  /// Since begin_watch every pod has had an answer of the store for every key.
  [[nodiscard]] bool healthy() const { return decided_.size() == keys.size() * kPods; }
  void begin_watch() { decided_.clear(); }
  /// For a person: of how many answers a pod still waits, what its breaker says, which errors it saw.
  [[nodiscard]] std::string state() const {
    std::string text;
    for (const auto& pod : pods_) {
      const auto decided = std::ranges::count(decided_, pod.get(), &Decided::first);
      text += "pod: " + std::to_string(decided) + " of " + std::to_string(keys.size()) + " keys, breaker " +
              std::to_string(static_cast<int>(pod->store->counters().breakers.at(0).load())) + ", errors";
      for (const auto& count : pod->store->counters().store_errors)
        text += " " + std::to_string(count.load());
      text += ", probes " + std::to_string(pod->store->counters().probes.load()) + "\n";
    }
    return text;
  }

  net::IoLoop loop;
  std::deque<Key> keys;

 private:
  struct Pod {
    Pod(net::IoLoop& loop, const redis::Options& options, bool cluster)
        : client(redis::make_client(loop, options).value()),
          counters(store::make_redis_counter_store(*client, {.cluster = cluster})) {
      local.set_instances(kPods);
      store = std::make_unique<store::FailoverStore>(
          *counters, [this](std::string_view key) { return client->shard(key); }, local, loop, clock);
    }
    SteadyClock clock;
    store::LocalCounters local{clock};
    std::unique_ptr<redis::Client> client;
    std::unique_ptr<store::CounterStore> counters;
    std::unique_ptr<store::FailoverStore> store;
  };

  using Decided = std::pair<const Pod*, const Key*>;

  void ask(Pod& pod, Key& key) {
    if (stopped_) return;
    pod.store->consume({{.charge = charge(key), .on_store_failure = key.mode}},
                       [this, &pod, &key](const Result<core::Decision>& decision) {
                         hear(pod, key, decision);
                         loop.post_after(kPace, [this, &pod, &key] { ask(pod, key); });
                       });
  }
  void hear(const Pod& pod, Key& key, const Result<core::Decision>& decision) {
    if (!decision) {
      ++key.errors;
      return;
    }
    const auto mode = decision->degraded();
    if (!mode) decided_.insert({&pod, &key});
    if (decision->unavailable()) {
      ++key.unavailable;
    } else if (decision->verdict != core::Verdict::allow) {
      key.denied += mode ? 0 : 1;
    } else {
      ++(!mode ? key.by_store : *mode == core::FailureMode::local ? key.by_share : key.by_mode);
    }
  }

  static constexpr std::chrono::milliseconds kPace{2};
  std::vector<std::unique_ptr<Pod>> pods_;
  std::set<Decided> decided_;
  bool stopped_ = false;
};

}  // namespace dripgate::testing
