// Store reader: see store_reader.h.
#include "config/store_reader.h"

#include <array>

#include "config/fields.h"
#include "config/paths.h"
#include "config/redis_reader.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::array<std::string_view, 3> kStoreKeys{"sqlite", "memory", "redis"};
constexpr std::string_view kStoreForms =
    "accepted: { sqlite: PATH }, { redis: { url: \"redis://host:6379/0\" } } or { memory: {} }";

Store read_memory(const Node& node, Context& context) {
  if (node.kind != Node::Kind::map || !node.keys.empty()) {
    context.report.error(node.at, "memory has no settings; accepted: memory: {}");
  }
  return MemoryStore{};
}

Store read_sqlite(const Node& node, Context& context) {
  // SQLite gives these a meaning of its own: a database that is gone at the next start.
  if (node.text.starts_with(':') || node.text.starts_with("file:")) {
    context.report.error(node.at, "sqlite must be the path of a file; for memory write memory: {}");
    return MemoryStore{};
  }
  return SqliteStore{read_path(node, "sqlite", context)};
}

}  // namespace

Store read_store(const Node& node, Context& context) {
  const Fields fields(node, "store", kStoreKeys, context.report);
  if (!fields.is_map()) return MemoryStore{};
  if (!fields.mentions_any(kStoreKeys)) {
    context.report.error(fields.at(), "store is empty; " + std::string(kStoreForms));
  }
  Store store = MemoryStore{};
  std::string_view first;
  for (const std::string_view key : kStoreKeys) {
    const Node* named = fields.find(key);
    if (named == nullptr) continue;
    if (!first.empty()) {
      context.report.error(fields.mark(key), "store has both " + std::string(first) + " and " +
                                                 std::string(key) + "; keep one");
      break;
    }
    first = key;
    if (key == "sqlite") store = read_sqlite(*named, context);
    if (key == "memory") store = read_memory(*named, context);
    if (key == "redis") store = read_redis(*named, context);
  }
  return store;
}

}  // namespace dripgate::config
