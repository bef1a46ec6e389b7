// The picture of the original design with the real binary's parts, each a process of its own: a Pub/Sub
// (ours or Google's emulator), worker, a Cloud Tasks, dispatch, consume, a real Redis, an HTTP sink.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "integration_pubsub/site.h"
#include "net/io_loop.h"
#include "support/gcp/tasks_fake.h"
#include "support/redis/redis_server.h"
#include "support/scratch_folder.h"

namespace dripgate::http {
class Server;
}

namespace dripgate::integration {

/// A delivery as the sink got it.
struct SinkCall {
  std::string id, key, slot, released, body;
  bool answered = true;
};

/// An HTTP sink of the test's own process. Thread-safe.
class RecordingSink {
 public:
  RecordingSink();
  ~RecordingSink();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::vector<SinkCall> calls() const;
  [[nodiscard]] std::set<std::string> ids() const;  // of answered calls
  [[nodiscard]] std::size_t distinct() const;
  /// Asked at each delivery, on the sink's thread; false: it is not confirmed. Empty: all are.
  void confirm(std::function<bool(const SinkCall&)> asked);

 private:
  mutable std::mutex mutex_;
  std::vector<SinkCall> calls_;
  std::set<std::string> ids_;
  std::function<bool(const SinkCall&)> asked_;
  net::IoLoop loop_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

struct PicturePlan {
  std::string limits = "[ { limit: 100, window: 5s } ]";
  std::string max_delay = "2h";
};

class Picture {
 public:
  static constexpr const char* kStream = "payouts";
  static constexpr const char* kAccount = "tasks@acme.iam.gserviceaccount.com";
  static constexpr const char* kAudience = "https://dispatch.example.com";

  /// Topics and subscriptions are its own, also where a Pub/Sub outlives it.
  Picture(Server& pubsub, PicturePlan plan);
  /// Ends the parts; a sanitizer's report in what they wrote fails the test.
  ~Picture();

  /// "worker", "worker-2", "dispatch", "consume": started, again too, and up when it returns.
  Process& start(const std::string& part);
  void start_all();
  [[nodiscard]] Process& part(const std::string& name) { return *parts_.at(name); }
  void kill(const std::string& name) { parts_.at(name)->kill_hard(); }
  [[nodiscard]] std::string log() const;

  void publish(const std::vector<std::string>& bodies);
  /// Sum of a metric's series in whose labels `label` occurs, as that part shows them now.
  [[nodiscard]] double metric(const std::string& part, const std::string& name,
                              const std::string& label = "");
  [[nodiscard]] std::string metrics(const std::string& part);
  [[nodiscard]] std::string dispatcher_url() const {
    return "http://127.0.0.1:" + std::to_string(dispatch_port_);
  }

  /// Releases by key and window, each (id, release) once.
  [[nodiscard]] std::map<std::string, std::map<std::int64_t, std::size_t>> windows(Duration window) const;
  [[nodiscard]] std::size_t fullest(Duration window) const;

  const std::string source, overflow, dead_letters;  // topics, and subscriptions of the same names
  testing::ScratchFolder folder;
  testing::RedisServer redis{{.lines = {"appendonly yes", "appendfsync everysec"}}};
  testing::TasksFake tasks;
  RecordingSink sink;
  Side side;

 private:
  void write_config(const PicturePlan& plan);
  [[nodiscard]] std::string port_of(const std::string& part) const;

  Server& pubsub_;
  std::uint16_t dispatch_port_ = testing::free_port();
  std::map<std::string, std::unique_ptr<Process>> parts_;
  std::vector<std::string> logs_;
};

/// {"payoutId": "pay_<n>", ...} with blanks and 2500.00, as nobody would print it again.
[[nodiscard]] std::string odd_payout(int number, const std::string& merchant = "8421",
                                     const std::string& prefix = "pay_");
[[nodiscard]] std::vector<std::string> odd_payouts(int count, const std::string& merchant = "8421",
                                                   const std::string& prefix = "pay_");

}  // namespace dripgate::integration
