#include "broker/redis_streams/durability_check.h"

#include <array>
#include <map>
#include <memory>
#include <utility>

#include "broker/redis_streams/replies.h"
#include "redis/info.h"

namespace dripgate::broker::redis_streams {
namespace {

std::int64_t number(std::string_view info, std::string_view name) {
  return to_integer(redis::info_field(info, name).value_or("0"));
}

/// "appendfsync" as CONFIG GET answered it, by node; those that refuse are left out.
std::map<std::string, std::string> appendfsync_of(const std::vector<redis::NodeReply>& nodes) {
  std::map<std::string, std::string> shown;
  for (const redis::NodeReply& node : nodes) {
    const auto* items = node.reply ? node.reply->items() : nullptr;
    const std::string* value = items != nullptr && items->size() == 2 ? items->back().text() : nullptr;
    if (value != nullptr) shown[node.node] = *value;
  }
  return shown;
}

DurabilityWarnings warnings_of(const std::vector<redis::NodeReply>& infos,
                               const std::map<std::string, std::string>& appendfsync) {
  DurabilityWarnings all;
  for (const redis::NodeReply& node : infos) {
    const std::string* info = node.reply ? node.reply->text() : nullptr;
    if (info == nullptr) continue;
    const auto shown = appendfsync.find(node.node);
    for (std::string& warning : durability_of(
             node.node, *info,
             shown == appendfsync.end() ? std::nullopt : std::optional<std::string_view>(shown->second)))
      all.push_back(std::move(warning));
  }
  return all;
}

}  // namespace

DurabilityWarnings durability_of(std::string_view node, std::string_view info,
                                 std::optional<std::string_view> appendfsync) {
  DurabilityWarnings warnings;
  const auto warn = [&](std::string what) { warnings.push_back(std::string(node) + ": " + std::move(what)); };
  const bool traces = number(info, "aof_delayed_fsync") > 0 || number(info, "aof_pending_bio_fsync") > 0;
  if (number(info, "aof_enabled") == 0) {
    warn(
        "appendonly is off: a restart loses every event since the last snapshot; set appendonly yes and "
        "appendfsync always");
  } else if (appendfsync ? *appendfsync != "always" : traces) {
    warn("appendfsync is " + (appendfsync ? std::string(*appendfsync) : "not always") +
         ": a crash loses up to a second or two of events; set appendfsync always");
  }
  if (redis::info_field(info, "aof_last_write_status").value_or("ok") != "ok")
    warn("the last write to the append-only file failed");
  const bool replicated = number(info, "connected_slaves") > 0;
  // INFO shows this line only where min-replicas-to-write is set.
  if (replicated && !redis::info_field(info, "min_slaves_good_slaves"))
    warn("min-replicas-to-write is 0: a failover loses what no replica has yet; set it to 1 or more");
  return warnings;
}

void check_durability(redis::Client& client, std::move_only_function<void(DurabilityWarnings)> done) {
  static constexpr std::array<std::string_view, 1> kInfo{"INFO"};
  static constexpr std::array<std::string_view, 3> kConfig{"CONFIG", "GET", "appendfsync"};
  struct Answers {
    std::optional<std::vector<redis::NodeReply>> infos, configs;
    std::move_only_function<void(DurabilityWarnings)> done;
    void settle() {
      if (infos && configs) done(warnings_of(*infos, appendfsync_of(*configs)));
    }
  };
  auto answers = std::make_shared<Answers>();
  answers->done = std::move(done);
  // Both at once: the client may be gone when the first is answered.
  client.each_primary(kInfo, [answers](std::vector<redis::NodeReply> nodes) {
    answers->infos = std::move(nodes);
    answers->settle();
  });
  client.each_primary(kConfig, [answers](std::vector<redis::NodeReply> nodes) {
    answers->configs = std::move(nodes);
    answers->settle();
  });
}

}  // namespace dripgate::broker::redis_streams
