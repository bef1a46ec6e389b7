// Redis reader: see redis_reader.h.
#include "config/redis_reader.h"

#include <array>
#include <optional>

#include "config/endpoint.h"
#include "config/fields.h"
#include "config/paths.h"
#include "config/secret_reader.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kNodesMax = 1'000;
constexpr std::size_t kUserBytesMax = 256;
constexpr std::size_t kKeyPrefixBytesMax = 64;
constexpr std::int64_t kDatabaseMax = 15;
constexpr std::int64_t kPartitionsMax = 64;
constexpr int kClusterPartitionsDefault = 16;
constexpr Duration kStoreTimeoutMax = 10s;
constexpr std::uint16_t kSentinelPort = 26'379;

constexpr std::array<std::string_view, 3> kWhere{"url", "cluster", "sentinel"};
constexpr auto kRedisKeys =
    joined_keys(kWhere, std::array<std::string_view, 7>{"tls", "user", "password", "database", "timeout",
                                                        "keyPrefix", "partitions"});
constexpr std::array<std::string_view, 2> kSentinelKeys{"master", "nodes"};
constexpr std::array<std::string_view, 3> kTlsKeys{"ca", "cert", "key"};
constexpr std::array<std::string_view, 2> kSecretKeys{"file", "env"};
constexpr std::string_view kForms =
    "accepted: { url: \"redis://host:6379/0\" }, { cluster: [\"host:7000\", ...] } or { sentinel: { "
    "master: NAME, nodes: [\"host:26379\", ...] } }";
constexpr std::string_view kUrlForms =
    "accepted: redis://[user@]host[:port][/database], rediss:// for TLS, or the whole url as { env: NAME } "
    "or { file: PATH } when it holds a password";

/// `{ file | env }`: the secret; anything else is reported.
std::string read_secret_node(const Node& node, std::string_view what, Context& context) {
  if (node.kind == Node::Kind::scalar) {
    context.report.error(node.at, std::string(what) + ": " + std::string(kSecretForms));
    return {};
  }
  const Fields fields(node, std::string(what), kSecretKeys, context.report);
  return fields.is_map() ? read_secret(fields, context) : std::string();
}

void read_url(const Node& node, RedisStore& store, Context& context) {
  const bool literal = node.kind == Node::Kind::scalar;
  const std::string text = literal ? node.text : read_secret_node(node, "url", context);
  if (!literal && text.empty()) return;
  RedisUrl url;
  if (const std::string_view problem = parse_redis_url(text, url); !problem.empty()) {
    // It may hold a password: it is not repeated.
    context.report.error(node.at, "redis url: " + std::string(problem) + "; " + std::string(kUrlForms));
    return;
  }
  if (literal && !url.password.empty()) {
    context.report.error(node.at, "redis url holds a password; " + std::string(kUrlForms) +
                                      ", or password: { file: PATH } beside it");
    return;
  }
  store.nodes = {{url.at.host, url.at.port}};
  store.user = url.user;
  store.password = url.password;
  store.database = url.database;
  if (url.tls) store.tls = RedisTls{};
}

std::vector<Address> read_nodes(const Node& list, std::string_view what, std::uint16_t port,
                                Context& context) {
  std::vector<Address> nodes;
  for (const Node& item : list_items(list, what, kNodesMax, context.report)) {
    if (auto at = read_node(item, what, port, context.report)) nodes.push_back({at->host, at->port});
  }
  return nodes;
}

void read_sentinel(const Node& node, RedisStore& store, Context& context) {
  store.layout = RedisStore::Layout::sentinel;
  const Fields fields(node, "sentinel", kSentinelKeys, context.report);
  if (!fields.is_map()) return;
  if (const Node* master =
          fields.require("master", "accepted: the name that the sentinels know, such as mymaster")) {
    store.sentinel_master = read_name(*master, "master", context.report).value_or("");
  }
  if (const Node* nodes = fields.require("nodes", "such as nodes: [\"host:26379\"]")) {
    store.nodes = read_nodes(*nodes, "nodes", kSentinelPort, context);
  }
}

void read_where(const Fields& fields, RedisStore& store, Context& context) {
  std::string_view first;
  for (const std::string_view key : kWhere) {
    const Node* node = fields.find(key);
    if (node == nullptr) continue;
    if (!first.empty()) {
      context.report.error(fields.mark(key), "redis has both " + std::string(first) + " and " +
                                                 std::string(key) + "; keep one");
      return;
    }
    first = key;
    if (key == "url") read_url(*node, store, context);
    if (key == "cluster") {
      store.layout = RedisStore::Layout::cluster;
      store.partitions = kClusterPartitionsDefault;
      store.nodes = read_nodes(*node, "cluster", 0, context);
    }
    if (key == "sentinel") read_sentinel(*node, store, context);
  }
  if (first.empty() && !fields.mentions_any(kWhere)) {
    context.report.error(fields.at(), "redis does not say where it is; " + std::string(kForms));
  }
}

void read_tls(const Node& node, RedisStore& store, Context& context) {
  const Fields fields(node, "tls", kTlsKeys, context.report);
  if (!fields.is_map()) return;
  RedisTls& tls = store.tls.emplace();
  if (const Node* ca = fields.find("ca")) tls.ca_file = read_pem_path(*ca, "ca", context);
  if (const Node* cert = fields.find("cert")) tls.cert_file = read_pem_path(*cert, "cert", context);
  if (const Node* key = fields.find("key")) tls.key_file = read_pem_path(*key, "key", context);
  if (tls.cert_file.has_value() != tls.key_file.has_value()) {
    context.report.error(fields.at(), "a client certificate needs both cert and key");
  }
}

void read_login(const Fields& fields, RedisStore& store, Context& context) {
  if (const Node* user = fields.find("user")) {
    store.user = read_text(*user, "user", kUserBytesMax, context.report).value_or("");
  }
  if (const Node* password = fields.find("password")) {
    store.password = read_secret_node(*password, "password", context);
  }
  if (!store.user.empty() && store.password.empty() && !fields.mentions("password")) {
    context.report.error(fields.at(), "user " + in_quotes(store.user) +
                                          " has no password; accepted: password: { file: PATH } or { env: "
                                          "NAME }");
  }
}

void read_key_prefix(const Node& node, RedisStore& store, Context& context) {
  const auto prefix = read_text(node, "keyPrefix", kKeyPrefixBytesMax, context.report);
  if (!prefix) return;
  // Braces would become the hash tag of every key: one shard for all.
  if (prefix->find_first_of("{}") != std::string::npos) {
    context.report.error(
        node.at, "keyPrefix " + in_quotes(*prefix) + " holds a brace; accepted: text without { and }");
    return;
  }
  store.key_prefix = *prefix;
}

void read_rest(const Fields& fields, RedisStore& store, Context& context) {
  Report& report = context.report;
  if (const Node* node = fields.find("database")) {
    if (store.layout == RedisStore::Layout::cluster) {
      report.error(fields.mark("database"), "a cluster has only database 0; leave it out");
    }
    const auto number =
        static_cast<int>(read_integer(*node, "database", {0, kDatabaseMax}, report).value_or(0));
    if (store.database != 0 && number != store.database) {
      report.error(fields.mark("database"), "database " + std::to_string(number) +
                                                " beside a url of database " +
                                                std::to_string(store.database) + "; keep one");
    }
    store.database = number;
  }
  if (const Node* node = fields.find("timeout")) {
    store.timeout = read_duration(*node, "timeout", kStoreTimeoutMax, report).value_or(store.timeout);
  }
  if (const Node* node = fields.find("keyPrefix")) read_key_prefix(*node, store, context);
  if (const Node* node = fields.find("partitions")) {
    store.partitions =
        static_cast<int>(read_integer(*node, "partitions", {1, kPartitionsMax}, report).value_or(1));
  }
}

}  // namespace

RedisStore read_redis(const Node& node, Context& context) {
  RedisStore store;
  const Fields fields(node, "redis", kRedisKeys, context.report);
  if (!fields.is_map()) return store;
  read_where(fields, store, context);
  if (const Node* tls = fields.find("tls")) read_tls(*tls, store, context);
  read_login(fields, store, context);
  read_rest(fields, store, context);
  return store;
}

}  // namespace dripgate::config
