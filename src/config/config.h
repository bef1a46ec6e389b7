// Config: everything dripgate.yaml can say, checked. Immutable; shared as a Snapshot (config/snapshot.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cloud_tasks.h"
#include "base/ip_network.h"
#include "base/limits.h"
#include "base/result.h"
#include "core/policy.h"
#include "core/stream.h"
#include "core/vendor.h"

namespace dripgate::config {

class Matcher;

struct MemoryStore {
  friend bool operator==(const MemoryStore&, const MemoryStore&) = default;
};
struct SqliteStore {
  std::string path;  // resolved: a relative path in the file starts at the file's folder
  friend bool operator==(const SqliteStore&, const SqliteStore&) = default;
};
struct Address {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
struct RedisTls {
  std::optional<std::string> ca_file;    // empty: the system's CAs
  std::optional<std::string> cert_file;  // with key_file: a client certificate
  std::optional<std::string> key_file;
  friend bool operator==(const RedisTls&, const RedisTls&) = default;
};
struct RedisStore {
  enum class Layout : std::uint8_t { single, cluster, sentinel };
  Layout layout = Layout::single;
  std::vector<Address> nodes;   // single: one; cluster: where to begin; sentinel: the sentinels
  std::string sentinel_master;  // the name that the sentinels know
  std::string user;             // empty: the default user
  std::string password;         // never logged
  int database = 0;             // single and sentinel only
  std::optional<RedisTls> tls;  // set: every connection is TLS
  Duration timeout = 5ms;       // of one call of a check
  std::string key_prefix;       // before every key
  int partitions = 1;           // hash tags that each stream is spread over
  friend bool operator==(const RedisStore&, const RedisStore&) = default;
};
using Store = std::variant<MemoryStore, SqliteStore, RedisStore>;

struct HttpDelivery {
  std::string url;  // http:// or https://
  Duration timeout = 10s;
  std::size_t max_connections = 64;
  std::optional<std::string> ca_file{};  // of an https:// url; empty: the system's CAs
  std::string vendor{};                  // deliveries acquire from it and tell it the answers; empty: none
  friend bool operator==(const HttpDelivery&, const HttpDelivery&) = default;
};
struct TopicDelivery {
  std::string topic;
  friend bool operator==(const TopicDelivery&, const TopicDelivery&) = default;
};
using Delivery = std::variant<HttpDelivery, TopicDelivery>;

/// A service of Google Cloud as this process reaches it.
struct GcpEndpoint {
  std::string target;      // "pubsub.googleapis.com:443"
  bool plaintext = false;  // an emulator: neither TLS nor credentials
  friend bool operator==(const GcpEndpoint&, const GcpEndpoint&) = default;
};
/// `gcp`. Credentials never stand in the file: they are the environment's (application default credentials).
struct Gcp {
  std::string project;
  GcpEndpoint pubsub{.target = "pubsub.googleapis.com:443"};  // PUBSUB_EMULATOR_HOST goes before the file
  GcpEndpoint cloud_tasks{.target = "cloudtasks.googleapis.com:443"};
  std::string token_issuer = "https://accounts.google.com";  // of the identity tokens that tasks carry ...
  std::string token_keys = "https://www.googleapis.com/oauth2/v3/certs";  // ... and where its keys are
  friend bool operator==(const Gcp&, const Gcp&) = default;
};

/// What a stream on Pub/Sub has beside its source topic, which is there the id of a subscription.
struct PubsubSource {
  std::string overflow_subscription;  // of the overflow topic; default: its name
  int streams = 1;                    // open at once, of each subscription
  friend bool operator==(const PubsubSource&, const PubsubSource&) = default;
};

/// Where events wait that are too large for a task: `claimCheck: { redis: { ... } }`, the store of the
/// bookings.
struct ClaimCheck {
  std::size_t bytes_max = kClaimBytesDefault;             // of all that wait
  std::size_t event_bytes_max = kClaimEventBytesDefault;  // of one, enriched
  friend bool operator==(const ClaimCheck&, const ClaimCheck&) = default;
};

/// A stream's timer on Cloud Tasks: `timer: { cloudTasks: { ... } }`.
struct CloudTasksTimer {
  std::string location;
  std::vector<std::string> queues;
  std::string target;  // the dispatchers' URL, without the path of the stream and without a final '/'
  std::string service_account;  // whose identity token a task carries ...
  std::string audience;         // ... and for whom it is; default: the target as written
  std::size_t task_bytes_max = kTaskBytesDefault;
  std::optional<ClaimCheck> claim_check;  // empty: a larger event is a dead letter
  friend bool operator==(const CloudTasksTimer&, const CloudTasksTimer&) = default;
};

struct StreamSettings {
  core::StreamPtr stream;
  std::string source_topic;  // source: { embedded: TOPIC }, { redis: TOPIC } or { pubsub: SUBSCRIPTION }
  std::optional<PubsubSource> pubsub;          // set: all topics of the stream are on Pub/Sub
  std::optional<CloudTasksTimer> cloud_tasks;  // empty: the timer is in the store
  Delivery deliver;
  std::size_t max_outstanding_messages = kOutstandingMessagesDefault;
  std::size_t max_outstanding_bytes = kOutstandingBytesDefault;
};

enum class Scope : std::uint8_t { check, ingest, consume, vendor, admin };

struct Token {
  std::string secret;  // read from its file or environment variable; never logged
  std::vector<Scope> scopes;
  friend bool operator==(const Token&, const Token&) = default;
};

struct Tls {
  std::string cert_file;
  std::string key_file;
  std::optional<std::string> client_ca_file;  // set: clients need a certificate (mTLS)
  friend bool operator==(const Tls&, const Tls&) = default;
};

/// A fact of a forwarded request that one of its headers carries (server.forwardAuth.attributes).
struct HeaderAttribute {
  std::string name;
  std::string header;
  friend bool operator==(const HeaderAttribute&, const HeaderAttribute&) = default;
};

struct Server {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::vector<Token> tokens;  // a host beyond loopback needs tokens or mTLS
  std::optional<Tls> tls;
  std::int64_t ingest_rate_max = 50'000;  // events per second over all streams, then 429
  std::vector<IpNetwork> trusted_proxies = loopback_networks();  // whose X-Forwarded-* and headers count
  std::vector<HeaderAttribute> forward_auth_attributes;
  std::optional<Address> rls;   // Envoy's rate limit service over gRPC; a port of 0 is any free one
  bool legacy_headers = false;  // X-RateLimit-* beside RateLimit
};

struct Config {
  std::string file;
  std::string version;  // first 12 hex digits of the SHA-256 of the file's bytes
  std::string scope;    // the file's default scope
  std::vector<core::PolicyPtr> policies;
  std::vector<StreamSettings> streams;
  std::vector<core::VendorPtr> vendors;
  Store store = MemoryStore{};
  std::optional<Gcp> gcp;
  Server server;
  std::shared_ptr<const Matcher> matcher;  // over `policies`: config/match.h
  std::vector<std::string> secret_files;   // read for tokens: a change of one is a change of the set
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

/// Where the parts that only a restart can change stand: for a refused reload.
struct Place {
  int line = 1;
  int column = 1;
};

struct Loaded {
  std::optional<Config> config;           // empty when any problem is an error
  std::vector<Problem> problems;          // errors and warnings, by position
  std::map<std::string, Place> places;    // "store", "server", "streams", "stream <id>"
  std::vector<std::string> secret_files;  // also of a set with errors
  std::optional<Store> store;             // what the file names, where this part has no error
};

/// Looks an environment variable up for `{env: NAME}`; empty: not set. Only app reads the real environment.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Parses and checks text as if it stood in `file`. Without an environment no variable is set.
[[nodiscard]] Loaded parse(std::string_view text, const std::string& file);
[[nodiscard]] Loaded parse(std::string_view text, const std::string& file, const Environment& environment);
/// Reads and parses a file; an unreadable file is a problem at 1:1.
[[nodiscard]] Loaded load(const std::string& file);
[[nodiscard]] Loaded load(const std::string& file, const Environment& environment);

}  // namespace dripgate::config
