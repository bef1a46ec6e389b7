#include "app/redis_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "broker/redis_streams/durability_check.h"
#include "store/redis/server_check.h"

namespace dripgate::app {

void RedisWatch::ask() {
  static constexpr std::array<std::string_view, 1> kWords{"PING"};
  client_.each_primary(kWords, guard_.wrap([this](const std::vector<redis::NodeReply>& replies) {
    heard(replies);
    executor_.post_after(kRedisWatchEvery, guard_.wrap([this] { ask(); }));
  }));
}

void RedisWatch::heard(const std::vector<redis::NodeReply>& replies) {
  bool all = true;
  for (const redis::NodeReply& node : replies) {
    if (node.reply) continue;
    all = false;
    lost(node, replies.size() > 1);
  }
  if (all) all_answer();
}

void RedisWatch::lost(const redis::NodeReply& node, bool of_many) {
  checked_ = false;
  if (!away_since_) away_since_ = clock_.now();
  // Another place for the one server, as Sentinels name it, is the same loss.
  if (!away_.empty() && !of_many) return;
  if (!away_.insert(node.node).second) return;
  away_warnings_.push_back("redis is away, checks are decided by onStoreFailure: " +
                           node.reply.error().detail);
  health_.warn("redis away", away_warnings_);
  log_.error("redis is away", {{"node", node.node}, {"detail", node.reply.error().detail}});
}

void RedisWatch::all_answer() {
  if (away_since_) {
    log_.info("redis answers again",
              {{"away_ms", (clock_.now() - *away_since_) / std::chrono::milliseconds{1}}});
    away_since_.reset();
    away_.clear();
    away_warnings_.clear();
    health_.warn("redis away", {});
  }
  if (!std::exchange(checked_, true)) check();
}

void RedisWatch::check() {
  store::check_servers(client_, clock_, guard_.wrap([this](const std::vector<store::ServerWarning>& found) {
    std::vector<std::string> warnings;
    for (const auto& [node, text] : found) warnings.push_back("redis " + node + " " + text);
    if (holds_ == RedisHolds::counters) return warn(std::move(warnings));
    broker::redis_streams::check_durability(
        client_, guard_.wrap([this, warnings = std::move(warnings)](
                                 const broker::redis_streams::DurabilityWarnings& said) mutable {
          for (const std::string& sentence : said) warnings.push_back("redis " + sentence);
          warn(std::move(warnings));
        }));
  }));
}

void RedisWatch::warn(std::vector<std::string> warnings) {
  for (const std::string& sentence : warnings) {
    const bool said = std::ranges::find(warnings_, sentence) != warnings_.end();
    if (!said) log_.warn("redis", {{"warning", sentence}});
  }
  warnings_ = warnings;
  health_.warn("redis", std::move(warnings));
}

}  // namespace dripgate::app
