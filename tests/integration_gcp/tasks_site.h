// The parts of a stream whose timer is on Cloud Tasks, each a process of its own, on a real Redis and the
// fake.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rfc3339.h"
#include "http/client.h"
#include "integration/processes.h"
#include "net/io_loop.h"
#include "support/gcp/tasks_fake.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {

inline constexpr const char* kAccount = "tasks@acme.iam.gserviceaccount.com";
inline constexpr const char* kAudience = "https://dispatch.example.com";
inline constexpr int kOk = 200;
inline constexpr std::size_t kLimit = 100;
inline constexpr std::chrono::seconds kWindow{5};

class TasksSite : public ::testing::Test {
 protected:
  /// `limits` and further members of cloudTasks (", name: value") as the config has them.
  explicit TasksSite(std::string limits = "[ { limit: " + std::to_string(kLimit) + ", window: 5s } ]",
                     std::string timer_more = {})
      : limits_(std::move(limits)), timer_more_(std::move(timer_more)) {}

  StreamPlan plan() {
    return {
        .limits = limits_,
        .more =
            "    timer: { cloudTasks: { location: asia-south1, queues: [payouts-1, payouts-2], target: \"" +
            dispatcher_url() + "\", serviceAccount: " + kAccount + ", audience: \"" + kAudience + "\"" +
            timer_more_ + " } }\n",
        .store = "{ redis: { url: \"redis://" + redis.address() +
                 "\" } }\ngcp: { project: acme, cloudTasks: { endpoint: \"" + tasks.endpoint() +
                 "\", plaintext: true }, tokens: { issuer: \"" + tasks.issuer() + "\", keys: \"" +
                 tasks.keys_url() + "\" } }",
        .source = "redis",
        .verb = "serve"};
  }
  [[nodiscard]] std::string dispatcher_url() const {
    return "http://127.0.0.1:" + std::to_string(dispatch_port);
  }

  std::unique_ptr<Process> part(const std::string& verb) {
    std::vector<std::string> arguments{verb, "-c", site.config()};
    if (verb == "dispatch") arguments.insert(arguments.end(), {"--port", std::to_string(dispatch_port)});
    logs.push_back(site.folder.path(verb + std::to_string(logs.size())));
    return std::make_unique<Process>(arguments, logs.back());
  }
  /// serve and its sink, then one of each part.
  void start() {
    ASSERT_TRUE(site.start()) << site.up_log();
    for (const char* verb : {"worker", "dispatch", "consume"}) parts[verb] = part(verb);
    // Ready: it has fetched the keys of the tokens' issuer too.
    ASSERT_TRUE(eventually([&] { return ask_dispatcher({.method = "GET", .target = "/readyz"}) == kOk; }))
        << log();
  }
  /// The status of its answer; 0: none.
  [[nodiscard]] int ask_dispatcher(http::Call call) const {
    net::IoLoop loop;
    auto client = http::Client::make(loop, *http::parse_url(dispatcher_url()), {});
    std::optional<int> status;
    (*client)->send(std::move(call),
                    [&](const Result<http::Response>& got) { status = got ? got->status : 0; });
    while (!status) loop.run_for(std::chrono::milliseconds{1});
    return *status;
  }
  [[nodiscard]] std::string log() const {
    std::string text;
    for (const std::string& file : logs) text += read_file(file + ".err");
    return text;
  }
  void TearDown() override {
    parts.clear();
    const std::string text = log();
    for (const char* mark : {"Sanitizer", "runtime error"})
      EXPECT_EQ(text.find(mark), std::string::npos) << text;
  }

  /// Releases by window of the limit, every (id, release) once.
  [[nodiscard]] std::size_t fullest_window() const {
    std::map<std::int64_t, std::set<std::string>> windows;
    for (const SinkLine& line : site.sink_lines()) {
      const auto released = parse_rfc3339(line.released);
      if (!released)
        ADD_FAILURE() << "released: " << line.released;
      else
        windows[released->time_since_epoch() / kWindow].insert(line.id + line.released);
    }
    std::size_t fullest = 0;
    for (const auto& [window, ids] : windows) fullest = std::max(fullest, ids.size());
    return fullest;
  }
  [[nodiscard]] bool delivered(std::size_t count, std::chrono::milliseconds patience = kPatience) const {
    return eventually([&] { return site.confirmed_ids().size() == count; }, patience);
  }
  [[nodiscard]] std::string letters() { return site.ask({"dlq", "list", "payouts"}).out; }

  const std::string limits_;
  const std::string timer_more_;
  testing::RedisServer redis{{.lines = {"appendonly yes", "appendfsync everysec"}}};
  testing::TasksFake tasks;
  std::uint16_t dispatch_port = testing::free_port();
  Processes site{plan()};
  std::map<std::string, std::unique_ptr<Process>> parts;
  std::vector<std::string> logs;
};

}  // namespace dripgate::integration
