#include "broker/redis_streams/durability_check.h"

#include <optional>
#include <utility>

#include "broker/redis_streams/replies.h"

namespace dripgate::broker::redis_streams {
namespace {

constexpr std::int64_t kVersionMin = 7;  // XADD 0-*, scripts with #!lua

/// The value of "name:value\r\n" in INFO's text.
std::optional<std::string_view> field(std::string_view info, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + ":";
  const std::size_t found = info.find(wanted);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = info.substr(found + wanted.size());
  return rest.substr(0, rest.find_first_of("\r\n"));
}

std::int64_t number(std::string_view info, std::string_view name) {
  return to_integer(field(info, name).value_or("0"));
}

}  // namespace

DurabilityWarnings durability_of(std::string_view node, std::string_view info) {
  DurabilityWarnings warnings;
  const auto warn = [&](std::string what) { warnings.push_back(std::string(node) + ": " + std::move(what)); };
  const std::string version(field(info, "redis_version").value_or("unknown"));
  if (to_integer(version.substr(0, version.find('.'))) < kVersionMin)
    warn("Redis " + version + " is too old; 7.0 or later is needed");
  if (number(info, "aof_enabled") == 0) {
    warn(
        "appendonly is off: a restart loses every event since the last snapshot; set appendonly yes and "
        "appendfsync always");
  } else if (number(info, "aof_delayed_fsync") > 0 || number(info, "aof_pending_bio_fsync") > 0) {
    warn("appendfsync is not always: a crash loses up to a second or two of events; set appendfsync always");
  }
  if (field(info, "aof_last_write_status").value_or("ok") != "ok")
    warn("the last write to the append-only file failed");
  if (const auto policy = field(info, "maxmemory_policy"); policy.value_or("noeviction") != "noeviction")
    warn("maxmemory-policy is " + std::string(*policy) + ": full memory drops events; set noeviction");
  const bool replicated = number(info, "connected_slaves") > 0;
  // INFO shows this line only where min-replicas-to-write is set.
  if (replicated && !field(info, "min_slaves_good_slaves"))
    warn("min-replicas-to-write is 0: a failover loses what no replica has yet; set it to 1 or more");
  return warnings;
}

void check_durability(redis::Client& client, std::move_only_function<void(DurabilityWarnings)> done) {
  static constexpr std::string_view kWords[] = {"INFO"};
  client.each_primary(kWords, [kept = std::move(done)](const std::vector<redis::NodeReply>& nodes) mutable {
    DurabilityWarnings all;
    for (const redis::NodeReply& node : nodes) {
      const std::string* info = node.reply ? node.reply->text() : nullptr;
      if (info == nullptr) {
        all.push_back(node.node + ": its settings are unknown: " +
                      (node.reply ? "INFO has another form" : node.reply.error().detail));
        continue;
      }
      for (std::string& warning : durability_of(node.node, *info)) all.push_back(std::move(warning));
    }
    kept(std::move(all));
  });
}

}  // namespace dripgate::broker::redis_streams
