// A primary dies under load, in a cluster and behind Sentinels: no caller of an open or local policy sees an
// error, callers of a closed one are told that the limiter is unavailable, and what is admitted beyond a
// limit is bounded: by the shares of the pods, and by what the new primary had not heard of.
#include "integration_redis/failover_load.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "integration_redis/asker.h"
#include "redis/slots.h"
#include "support/redis/redis_cluster.h"
#include "support/redis/redis_sentinels.h"

namespace dripgate::testing {
namespace {

using core::FailureMode;
using redis::testing::local;
using namespace std::chrono_literals;

constexpr Duration kDeadline = 50ms;    // a busy machine misses the product's 5 ms without any failover
constexpr core::Units kBefore = 2'000;  // admissions of a large limit before the primary dies

std::string tag_of(const RedisCluster& cluster, std::size_t primary) {
  for (int i = 0;; ++i) {
    const std::string tag = "t" + std::to_string(i);
    if (cluster.first_owner(redis::slot_of("{" + tag + "}")) == primary) return tag;
  }
}

class FailoverUnderLoad : public ::testing::Test {
 protected:
  std::function<std::string()> servers_say_ = [] { return std::string(); };  // where a failure needs a reason
  std::deque<FailoverLoad::Key> before_;  // what was told until the primary died

  /// A number of INFO replication ("slave0" has several in one line); 0: none.
  static long long number(const RedisServer& server, const std::string& name) {
    const std::string said = server.ask({"INFO", "replication"});
    const std::size_t at = said.find(name);
    return at == std::string::npos ? 0 : std::atoll(said.c_str() + at + name.size());
  }

  /// `primary` is that of every key that `dies` names.
  void play(FailoverLoad& load, RedisServer& primary,
            const std::function<bool(const FailoverLoad::Key&)>& dies) {
    load.start();
    ASSERT_TRUE(load.until([&] {
      return load.healthy() && std::ranges::all_of(load.keys, [](const auto& key) {
               return key.limit == FailoverLoad::kSmall ? key.denied > 0 : key.by_store > kBefore;
             });
    })) << "it did not come so far";
    // What is told until now has reached the replica when the primary dies.
    before_ = load.keys;
    const long long written = number(primary, "master_repl_offset:");
    ASSERT_GT(written, 0);
    ASSERT_TRUE(load.until([&] { return number(primary, ",offset=") >= written; })) << "no replica follows";
    primary.kill();
    ASSERT_TRUE(load.until([&] {
      for (std::size_t i = 0; i < load.keys.size(); ++i)
        if (dies(load.keys[i]) && load.keys[i].degraded() == before_[i].degraded()) return false;
      return true;
    })) << "nobody noticed";
    load.begin_watch();
    ASSERT_TRUE(load.until([&] { return load.healthy(); })) << "not every pod came back to the store\n"
                                                            << load.state();
    load.stop();
    load.loop.run_for(2 * kDeadline + 10ms);
    judge(load, before_);
  }

  static void judge(FailoverLoad& load, const std::deque<FailoverLoad::Key>& before) {
    const core::Units share = FailoverLoad::kSmall / FailoverLoad::kPods * FailoverLoad::kPods;
    core::Units forgotten = 0, beyond = 0, unavailable = 0, degraded = 0, admitted = 0;
    for (std::size_t i = 0; i < load.keys.size(); ++i) {
      const auto& key = load.keys[i];
      SCOPED_TRACE(key.name);
      unavailable += key.unavailable;
      degraded += key.by_share + key.by_mode;
      EXPECT_EQ(key.errors, 0) << "an error came through to the caller";
      if (key.mode != FailureMode::closed) EXPECT_EQ(key.unavailable, 0);
      if (key.mode != FailureMode::open) EXPECT_EQ(key.by_mode, 0);
      core::Units used = -1;
      ASSERT_TRUE(load.until([&] { return (used = load.used(key)) >= 0; }));
      const core::Units lost = std::max<core::Units>(0, key.by_store - used);
      forgotten += lost;
      admitted += key.by_store;
      EXPECT_GE(used, before[i].by_store) << "what the replica had confirmed";
      if (key.limit != FailoverLoad::kSmall) continue;
      EXPECT_LE(key.by_store, key.limit + lost) << "the store admits no more than it forgot";
      EXPECT_LE(key.by_share, share) << "each pod its share, once";
      if (key.mode != FailureMode::open) beyond = std::max(beyond, key.by_store + key.by_share - key.limit);
    }
    EXPECT_LE(beyond, share + forgotten);
    std::printf(
        "failover under load: %lld admitted by the store, %lld forgotten by the new primary; %lld by modes, "
        "%lld "
        "unavailable (closed); most beyond a limit of %lld, closed and local: %lld\n",
        static_cast<long long>(admitted), static_cast<long long>(forgotten), static_cast<long long>(degraded),
        static_cast<long long>(unavailable), static_cast<long long>(FailoverLoad::kSmall),
        static_cast<long long>(beyond));
  }
};

TEST_F(FailoverUnderLoad, APrimaryOfAClusterDies) {
  RedisCluster cluster(3, 1, {.lines = {"cluster-require-full-coverage no"}}, 500ms);
  const redis::Options options{.layout = redis::Options::Layout::cluster,
                               .nodes = {local(cluster.node(1).port()), local(cluster.node(2).port())},
                               .timeout = kDeadline};
  const std::string dead = tag_of(cluster, 0);
  FailoverLoad load(options, {dead, tag_of(cluster, 1)});
  const auto dies = [&](const FailoverLoad::Key& key) { return key.name.starts_with("rl:{" + dead + "}"); };
  play(load, cluster.node(0), dies);
  for (std::size_t i = 0; i < load.keys.size() && i < before_.size(); ++i) {
    const auto& key = load.keys[i];
    if (dies(key)) continue;
    EXPECT_LT(key.degraded() - before_[i].degraded(), (key.answers() - before_[i].answers()) / 10 + 10)
        << "keys of another primary are not affected: " << key.name;
  }
}

TEST_F(FailoverUnderLoad, ThePrimaryBehindSentinelsDies) {
  RedisSentinels site;
  redis::Options options{.layout = redis::Options::Layout::sentinel,
                         .sentinel_master = RedisSentinels::kMaster,
                         .timeout = kDeadline};
  for (std::size_t i = 0; i < site.sentinels(); ++i) options.nodes.push_back(local(site.sentinel(i).port()));
  servers_say_ = [&] {
    return "primary " + site.primary_port() + " of " + std::to_string(site.node(0).port()) + ", " +
           std::to_string(site.node(1).port()) + "\n" + site.node(1).ask({"INFO", "replication"}) +
           site.sentinel(0).log();
  };
  FailoverLoad load(options, {"a"});
  play(load, site.node(0), [](const FailoverLoad::Key&) { return true; });
}

}  // namespace
}  // namespace dripgate::testing
