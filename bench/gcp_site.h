// One `dripgate worker` as operators run it, between our own Pub/Sub and Cloud Tasks (tests/support/gcp, in
// the bench's process) and a redis-server of its own. Streams: "pass" lets everything go at once to the topic
// "out", "wait" (1/s a key) books nearly everything into Cloud Tasks, "burst" likewise at 100/s a key.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "compare.h"
#include "integration/process.h"
#include "support/gcp/pubsub_fake.h"
#include "support/gcp/tasks_fake.h"
#include "support/redis/redis_server.h"
#include "support/scratch_folder.h"

namespace dripgate::bench {

inline constexpr std::uint64_t kKeys = 20;
inline constexpr std::size_t kBodyBytes = 256;
inline constexpr const char* kProject = "bench";

[[nodiscard]] inline std::string topic(const std::string& name) {
  return std::string("projects/") + kProject + "/topics/" + name;
}

/// {"id":"e<number>","key":...}, kBodyBytes long.
[[nodiscard]] inline std::string event_body(std::uint64_t number) {
  std::string body = R"({"id":"e)" + std::to_string(number) + R"(","key":"merchant_)" +
                     std::to_string(number % kKeys) + R"(","amount":2500.00,"currency":"INR","note":")";
  body.append(kBodyBytes - body.size() - 2, 'x');
  return body + "\"}";
}

/// The number that event_body() was given.
[[nodiscard]] inline std::uint64_t number_of(const std::string& body) {
  return std::stoull(body.substr(sizeof(R"({"id":"e)") - 1));
}

[[nodiscard]] inline double seconds_of(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) throw std::runtime_error("a measured process is gone");
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
[[nodiscard]] inline double wall_seconds() {
  return seconds_of(CLOCK_MONOTONIC);
}
/// Of all threads of a process.
[[nodiscard]] inline double cpu_seconds(pid_t process) {
  clockid_t clock{};
  if (clock_getcpuclockid(process, &clock) != 0) throw std::runtime_error("a measured process is gone");
  return seconds_of(clock);
}

[[nodiscard]] inline double resident_megabytes(pid_t process) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/statm").c_str(), "r");
  long pages = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
    throw std::runtime_error("a measured process is gone");
  std::fclose(file);
  return static_cast<double>(resident) * 4096.0 / 1e6;
}

class GcpSite {
 public:
  GcpSite() {
    tasks_.forget(true);
    integration::write_file(folder_.path("dripgate.yaml"), config());
    worker_ = std::make_unique<integration::Process>(
        std::vector<std::string>{"worker", "-c", folder_.path("dripgate.yaml"), "--create"},
        folder_.path("worker"));
    const auto is_up = [this] { return worker_->err().find(" up ") != std::string::npos; };
    (void)integration::eventually([&] { return is_up() || !worker_->running(); });
    if (!is_up()) throw std::runtime_error("no worker: " + worker_->err());
  }

  [[nodiscard]] testing::PubsubFake& pubsub() { return pubsub_; }
  [[nodiscard]] testing::TasksFake& tasks() { return tasks_; }
  [[nodiscard]] pid_t worker() const { return worker_->pid(); }
  [[nodiscard]] pid_t redis() const { return redis_.pid(); }
  [[nodiscard]] std::string log() const { return worker_->err(); }

  /// The next `count` events, all there at once.
  void publish(const std::string& to, std::uint64_t count) {
    std::vector<std::string> bodies;
    bodies.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) bodies.push_back(event_body(published_++));
    pubsub_.publish(topic(to), bodies);
  }
  [[nodiscard]] std::uint64_t published() const { return published_; }
  [[nodiscard]] std::uint64_t acked() const { return static_cast<std::uint64_t>(pubsub_.counts().acked); }

 private:
  [[nodiscard]] std::string config() const {
    const std::string windows = ", window: 1s } ]\n    spread: start\n    maxDelay: 480h\n";
    const std::string timer =
        "    timer: { cloudTasks: { location: l, queues: [one, two], target: \"http://127.0.0.1:9\", "
        "serviceAccount: tasks@bench.iam.gserviceaccount.com, audience: \"http://bench\" } }\n";
    std::string text = "store: { redis: { url: \"redis://" + redis_.address() +
                       "\" } }\n"
                       "gcp: { project: " +
                       kProject + ", pubsub: { endpoint: \"" + pubsub_.endpoint() +
                       "\", plaintext: true }, cloudTasks: { endpoint: \"" + tasks_.endpoint() +
                       "\", plaintext: true } }\nstreams:\n";
    for (const auto& [stream, limit] : {std::pair{"pass", "100000000"}, {"wait", "1"}, {"burst", "100"}}) {
      text += std::string("  - id: ") + stream + "\n    source: { pubsub: " + stream +
              " }\n    eventId: \"{id}\"\n    key: \"{key}\"\n    limits: [ { limit: " + limit + windows +
              timer + "    deliver: { topic: out }\n    overflowTopic: " + stream +
              "-over\n    deadLetterTopic: " + stream + "-dead\n";
    }
    return text;
  }

  testing::ScratchFolder folder_;
  testing::PubsubFake pubsub_;
  testing::TasksFake tasks_;
  testing::RedisServer redis_;
  std::uint64_t published_ = 0;
  std::unique_ptr<integration::Process> worker_;  // ends before its servers
};

}  // namespace dripgate::bench
