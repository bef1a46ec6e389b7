// The verbs of the command line: what each takes and the function that runs it. options_*.cc fill the structs
// from the arguments; every function answers the exit code of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace dripgate::cli {

using namespace std::chrono_literals;

/// Exit codes of every verb.
inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;      // it could not be done, or not for everything
inline constexpr int kExitUsage = 2;        // the command line or a file it names
inline constexpr int kExitUnreachable = 3;  // no answer from the server

/// Which part of the work a process does: everything, or one of them beside other processes on one Redis.
enum class Part : std::uint8_t { all, serve, worker, dispatch, consume };

struct UpOptions {
  Part part = Part::all;
  std::string config = "dripgate.yaml";
  std::optional<std::uint16_t> port;  // empty: the config's, or for worker, dispatch and consume any free one
  std::int64_t clock_scale = 1;
  bool create = false;  // topics and subscriptions that are missing on Google Cloud
  bool json_log = false;
  bool verbose = false;
};
int run_up(const UpOptions& options);

struct LintOptions {
  std::vector<std::string> files;
  std::string cases;  // requests and the answers that they must get (case_lines.h); empty: none
  bool json = false;
};
int run_lint(const LintOptions& options);

/// How to reach a running `dripgate up`.
struct ServerAddress {
  std::string url = "http://127.0.0.1:8080";
  std::string token_file;
  std::string ca_file;
  Duration timeout = 30s;
};

struct PublishOptions {
  ServerAddress server;
  std::string stream;
  std::string file = "-";
  std::size_t batch = 100;
  std::size_t concurrency = 4;
  std::optional<int> retries;  // empty: 10, and fewer for a server that has never answered
  std::string id_prefix;       // empty: a new one for this run
  bool json = false;
  bool quiet = false;
};
int run_publish(const PublishOptions& options);

struct InspectOptions {
  ServerAddress server;
  std::string stream;  // empty: every stream
  std::string key;
  bool json = false;
};
int run_inspect(const InspectOptions& options);

struct ExplainOptions {
  ServerAddress server;
  std::vector<std::string> attributes;  // "plan=free"
  std::int64_t cost = 1;
  bool json = false;
};
int run_explain(const ExplainOptions& options);

struct LetterOptions {
  enum class Action { list, show, replay, purge };
  Action action = Action::list;
  ServerAddress server;
  std::string stream;
  std::optional<std::uint64_t> sequence;  // empty: all of them
  std::uint64_t after = 0;
  std::size_t count = 100;
  std::int64_t per_second = 100;
  Duration older_than{};
  bool all = false;
  bool json = false;
};
int run_letters(const LetterOptions& options);

struct OperateOptions {
  enum class Action { freeze, thaw, reset, pause, resume };
  Action action = Action::freeze;
  ServerAddress server;
  std::string stream;
  std::string key;
  std::string until;    // RFC 3339
  Duration duration{};  // or from now on
};
int run_operate(const OperateOptions& options);

struct VendorOptions {
  enum class Action { inspect, freeze, thaw };
  Action action = Action::inspect;
  ServerAddress server;
  std::string vendor;
  std::vector<std::string> attributes;  // of its key: "portal=42"
  std::string until;                    // RFC 3339
  Duration duration{};                  // or from now on
  bool json = false;
};
int run_vendor(const VendorOptions& options);

struct InstancesOptions {
  std::string config = "dripgate.yaml";
  bool json = false;
};
int run_instances(const InstancesOptions& options);

struct ReloadOptions {
  std::string config = "dripgate.yaml";
  Duration wait = 10s;
  bool json = false;
};
int run_reload(const ReloadOptions& options);

struct BenchStoreOptions {
  std::string config = "dripgate.yaml";
  std::int64_t peak = 0;  // 0: what the load below needs
  Duration step = 5s;
  std::size_t connections = 50;
  std::size_t clients = 200;
  std::size_t keys = 50'000;
  std::int64_t instances = 50;
  std::int64_t requests = 50'000;
  double checks = 1.5;
  std::int64_t alive_keys = 2'000'000;
  Duration await_loss{};  // 0: nothing is lost
  bool json = false;
};
int run_bench_store(const BenchStoreOptions& options);

struct SinkOptions {
  std::string listen = "127.0.0.1:9000";
  Duration slow{};
  double fail_rate = 0;
  int fail_status = 503;
  std::int64_t limit = 0;  // 0: none
  Duration window = 60s;
  std::string log = "-";
  std::string vendor;          // profile of the vendor that it plays; empty: none
  Duration skew{};             // of the vendor's clock; ahead
  std::int64_t secondary = 0;  // of the vendor, per minute and unseen; 0: none
};
int run_sink(const SinkOptions& options);

struct DemoOptions {
  bool real = false;
  std::string events;  // the NDJSON file
};
int run_demo(const DemoOptions& options);

[[nodiscard]] std::string version_text();  // "dripgate 0.1.0"
int run_version();

}  // namespace dripgate::cli
