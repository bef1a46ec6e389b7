#include "capacity/servers.h"

#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "capacity/drive.h"
#include "redis/info.h"
#include "redis/options.h"

namespace dripgate::capacity {
namespace {

/// Where the server does not tell its threads apart: all of its CPU.
std::optional<double> cpu_us_of(std::string_view info) {
  for (const char* suffix : {"_main_thread", ""}) {
    const auto user = info_number(info, std::string("used_cpu_user") + suffix);
    const auto system = info_number(info, std::string("used_cpu_sys") + suffix);
    if (user && system) return (*user + *system) * 1e6;
  }
  return std::nullopt;
}

std::optional<double> memory_of(std::string_view info) {
  auto memory = info_number(info, "used_memory");
  for (const char* buffers : {"mem_clients_normal", "mem_aof_buffer", "mem_total_replication_buffers"})
    if (memory) *memory -= info_number(info, buffers).value_or(0);
  return memory;
}

void add(std::optional<double>& sum, std::optional<double> value) {
  if (value) sum = sum.value_or(0) + *value;
}

}  // namespace

std::optional<double> info_number(std::string_view info, std::string_view name) {
  const auto text = redis::info_field(info, name);
  double value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

ServerUse use_of(const std::vector<redis::NodeReply>& infos) {
  ServerUse use;
  for (const redis::NodeReply& node : infos) {
    const std::string* info = node.reply ? node.reply->text() : nullptr;
    if (info == nullptr) {
      use.silent.push_back(node.node);
      continue;
    }
    use.nodes.push_back(node.node + ", Redis " +
                        std::string(redis::info_field(*info, "redis_version").value_or("?")));
    add(use.memory, memory_of(*info));
    add(use.cpu_us, cpu_us_of(*info));
  }
  return use;
}

ServerUse ask_use(net::IoLoop& loop, redis::Client& client) {
  static constexpr std::array<std::string_view, 1> kInfo{"INFO"};
  auto use = std::make_shared<std::optional<ServerUse>>();
  client.each_primary(kInfo, [use](const std::vector<redis::NodeReply>& infos) { *use = use_of(infos); });
  (void)drive(loop, [&] { return use->has_value(); }, 2 * redis::kEachPrimaryTimeout);
  return use->value_or(ServerUse{});
}

}  // namespace dripgate::capacity
