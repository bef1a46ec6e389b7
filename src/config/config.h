// Config: everything dripgate.yaml can say, checked. Immutable; shared as a Snapshot (config/snapshot.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "core/policy.h"
#include "core/stream.h"

namespace dripgate::config {

struct MemoryStore {};
struct SqliteStore {
  std::string path;  // relative to the config file's folder
};
using Store = std::variant<MemoryStore, SqliteStore>;

struct HttpDelivery {
  std::string url;  // http:// or https://
  Duration timeout = 10s;
  std::size_t max_connections = 64;
};
struct TopicDelivery {
  std::string topic;
};
using Delivery = std::variant<HttpDelivery, TopicDelivery>;

struct StreamSettings {
  core::StreamPtr stream;
  std::string source_topic;  // source: { embedded: TOPIC }
  Delivery deliver;
  std::size_t max_outstanding_messages = kOutstandingMessagesDefault;
  std::size_t max_outstanding_bytes = kOutstandingBytesDefault;
};

enum class Scope : std::uint8_t { check, ingest, consume, vendor, admin };

struct Token {
  std::string secret;  // read from its file or environment variable; never logged
  std::vector<Scope> scopes;
};

struct Tls {
  std::string cert_file;
  std::string key_file;
  std::optional<std::string> client_ca_file;  // set: clients need a certificate (mTLS)
};

struct Server {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::vector<Token> tokens;  // a host beyond loopback needs tokens or mTLS
  std::optional<Tls> tls;
  std::int64_t ingest_rate_max = 50'000;  // events per second over all streams, then 429
};

struct Config {
  std::string file;
  std::string version;  // first 12 hex digits of the SHA-256 of the file's bytes
  std::string scope;    // the file's default scope
  std::vector<core::PolicyPtr> policies;
  std::vector<StreamSettings> streams;
  Store store = MemoryStore{};
  Server server;
};

struct Problem {
  std::string file;
  int line = 0;    // 1-based
  int column = 0;  // 1-based
  bool warning = false;
  std::string message;  // what is wrong and the accepted words
};

/// "dripgate.yaml:12:7: unknown key 'limt'; accepted: limit, window, ..."
[[nodiscard]] std::string to_string(const Problem& problem);

struct Loaded {
  std::optional<Config> config;   // empty when any problem is an error
  std::vector<Problem> problems;  // errors and warnings, by position
};

/// Parses and checks text as if it stood in `file`.
[[nodiscard]] Loaded parse(std::string_view text, const std::string& file);
/// Reads and parses a file; an unreadable file is a problem at 1:1.
[[nodiscard]] Loaded load(const std::string& file);

}  // namespace dripgate::config
