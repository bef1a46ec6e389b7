// A worker on Pub/Sub and Cloud Tasks: events that wait (read, booked in Redis, task created, acked) and
// events that pass to a topic (read, booked, published, done, acked), beside a loop without Dripgate that
// reads, publishes and acks with the same gRPC. Wall time, and the CPU time of all threads of the measured
// process: a machine that others use changes it less. Then the latency of in-limit events at 500 a second,
// again beside that loop; reported, for a shared machine's tail is not a property of the worker.
#include <cinttypes>
#include <deque>
#include <filesystem>
#include <future>
#include <latch>
#include <map>
#include <mutex>

#include <grpcpp/create_channel.h>

#include "base/sha256.h"
#include "gcp_site.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace dripgate::bench {
namespace {

constexpr std::uint64_t kEvents = 20'000;            // of one repeat
constexpr double kPassNanosecondsMax = 1e9 / 8'000;  // 8,000 events/s
constexpr double kWaitNanosecondsMax = 1e9 / 3'000;  // 3,000 events/s
constexpr double kExpiredMax = 0;                    // ack deadlines
constexpr std::uint64_t kLatencyEvents = 2'000;      // of one repeat ...
constexpr double kLatencyApart = 1.0 / 500;          // ... seconds between them
constexpr std::int64_t kStreams = 5;  // that are open at the start: three of the worker, two beside it
constexpr int kLatencyRepeats = 5;
constexpr const char* kBarePass = "bare";
constexpr const char* kBareWait = "bare-wait";
constexpr const char* kQueue = "projects/bench/locations/l/queues/bare";
constexpr const char* kBareFlag = "--bare";  // this program as the loop without Dripgate
constexpr std::chrono::minutes kPatience{5};

namespace proto = google::pubsub::v1;
namespace wire = google::cloud::tasks::v2;

void must(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

/// Pulls from a subscription of its own, hands each response on at once and whole, then acks it.
class BareLoop {
 public:
  using HandOn = std::function<void(proto::StreamingPullResponse&)>;
  BareLoop(const std::string& endpoint, std::string name)
      : name_(std::move(name)),
        publisher_(proto::Publisher::NewStub(open(endpoint))),
        subscriber_(proto::Subscriber::NewStub(open(endpoint))) {
    make_topic(name_);
    grpc::ClientContext making;
    proto::Subscription facts, made;
    facts.set_name(subscription());
    facts.set_topic(topic(name_));
    must(subscriber_->CreateSubscription(&making, facts, &made));
  }
  static std::shared_ptr<grpc::Channel> open(const std::string& endpoint) {
    return grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  }
  void make_topic(const std::string& name) {
    grpc::ClientContext context;
    proto::Topic request, made;
    request.set_name(topic(name));
    must(publisher_->CreateTopic(&context, request, &made));
  }
  /// Until the server ends.
  void run(const HandOn& hand_on) {
    grpc::ClientContext pulling;
    const auto stream = subscriber_->StreamingPull(&pulling);
    proto::StreamingPullRequest first;
    first.set_subscription(subscription());
    first.set_stream_ack_deadline_seconds(10);
    first.set_max_outstanding_messages(1'000);
    stream->Write(first);
    proto::StreamingPullResponse response;
    while (stream->Read(&response)) {
      if (response.received_messages_size() == 0) continue;
      hand_on(response);
      proto::AcknowledgeRequest ack;
      ack.set_subscription(subscription());
      for (auto& received : *response.mutable_received_messages())
        ack.add_ack_ids(std::move(*received.mutable_ack_id()));
      grpc::ClientContext context;
      google::protobuf::Empty nothing;
      must(subscriber_->Acknowledge(&context, ack, &nothing));
    }
  }
  void publish(proto::StreamingPullResponse& response) {
    grpc::ClientContext context;
    proto::PublishRequest request;
    proto::PublishResponse ids;
    request.set_topic(topic(name_ + "-out"));
    for (auto& received : *response.mutable_received_messages())
      request.add_messages()->set_data(std::move(*received.mutable_message()->mutable_data()));
    must(publisher_->Publish(&context, request, &ids));
  }

 private:
  [[nodiscard]] std::string subscription() const {
    return std::string("projects/") + kProject + "/subscriptions/" + name_;
  }

  std::string name_;
  std::unique_ptr<proto::Publisher::Stub> publisher_;
  std::unique_ptr<proto::Subscriber::Stub> subscriber_;
};

/// A task of each message, all of a response on their way at once.
void create_tasks(wire::CloudTasks::Stub& stub, proto::StreamingPullResponse& response) {
  struct Call {
    grpc::ClientContext context;
    wire::CreateTaskRequest request;
    wire::Task made;
  };
  std::latch open(response.received_messages_size());
  std::deque<Call> calls;
  for (auto& received : *response.mutable_received_messages()) {
    Call& call = calls.emplace_back();
    call.request.set_parent(kQueue);
    wire::Task& task = *call.request.mutable_task();
    task.set_name(std::string(kQueue) + "/tasks/" + sha256_hex(received.message().data()));
    task.mutable_http_request()->set_url("http://127.0.0.1:9");
    task.mutable_http_request()->set_http_method(wire::POST);
    task.mutable_http_request()->set_body(received.message().data());
    task.mutable_http_request()->mutable_oidc_token()->set_service_account_email("tasks@bench");
    stub.async()->CreateTask(&call.context, &call.request, &call.made, [&open](const grpc::Status& status) {
      if (!status.ok()) std::abort();
      open.count_down();
    });
  }
  open.wait();
}

/// This program beside the worker: pull, publish, ack, and pull, create a task, ack. Ends with its servers.
int bare_loops(const std::string& pubsub, const std::string& tasks) {
  BareLoop passing(pubsub, kBarePass), waiting(pubsub, kBareWait);
  passing.make_topic(std::string(kBarePass) + "-out");
  const auto stub = wire::CloudTasks::NewStub(BareLoop::open(tasks));
  const auto other = std::async(std::launch::async,
                                [&] { waiting.run([&](auto& response) { create_tasks(*stub, response); }); });
  passing.run([&](auto& response) { passing.publish(response); });
  return 0;
}

class Figures {
 public:
  explicit Figures(GcpSite& site)
      : site_(site),
        bare_({kBareFlag, site.pubsub().endpoint(), site.tasks().endpoint()}, folder_.path("bare"),
              std::filesystem::read_symlink("/proc/self/exe").string()) {
    site_.pubsub().listen([this](const std::string& to, const std::string& body) { heard(to, body); });
    const bool pulls = integration::eventually([&] { return site_.pubsub().counts().streams >= kStreams; });
    if (!pulls) throw std::runtime_error("no bare loop: " + bare_.err());
  }
  ~Figures() { site_.pubsub().listen({}); }

  struct Cpu {
    std::vector<double> process, redis, fakes;  // us per event of each repeat
  };

  /// `to`: whose topic.
  std::uint64_t work_off(const std::string& to, Cpu& cpu) {
    const pid_t process = to.starts_with(kBarePass) ? bare_.pid() : site_.worker();
    const double own = cpu_seconds(process);
    const double redis = cpu_seconds(site_.redis());
    const double fakes = cpu_seconds(::getpid());
    const std::uint64_t all = site_.acked() + kEvents;
    site_.publish(to, kEvents);
    if (!integration::eventually([&] { return site_.acked() >= all; }, kPatience))
      throw std::runtime_error(to + " stands still: " + site_.log() + bare_.err());
    cpu.process.push_back((cpu_seconds(process) - own) / kEvents * 1e6);
    cpu.redis.push_back((cpu_seconds(site_.redis()) - redis) / kEvents * 1e6);
    cpu.fakes.push_back((cpu_seconds(::getpid()) - fakes) / kEvents * 1e6);
    return kEvents;
  }

  /// Milliseconds of each event from the source topic to the topic "out", an open loop.
  std::vector<double> latency(const std::string& to) {
    {
      const std::scoped_lock lock(mutex_);
      first_ = site_.published();
      sent_.assign(kLatencyEvents, 0);
      took_.clear();
    }
    const double start = wall_seconds();
    for (std::uint64_t i = 0; i < kLatencyEvents; ++i) {
      while (wall_seconds() < start + kLatencyApart * static_cast<double>(i))
        integration::let_pass(std::chrono::milliseconds{1});
      {
        const std::scoped_lock lock(mutex_);
        sent_[i] = wall_seconds();
      }
      site_.publish(to, 1);
    }
    const bool all = integration::eventually([&] {
      const std::scoped_lock lock(mutex_);
      return took_.size() == kLatencyEvents;
    });
    if (!all) throw std::runtime_error("an event of " + to + " did not arrive: " + site_.log());
    const std::scoped_lock lock(mutex_);
    return std::exchange(took_, {});
  }

  [[nodiscard]] std::uint64_t passed() const {
    const std::scoped_lock lock(mutex_);
    return passed_;
  }
  [[nodiscard]] std::uint64_t dead() const {
    const std::scoped_lock lock(mutex_);
    return dead_;
  }

 private:
  void heard(const std::string& to, const std::string& body) {
    const double now = wall_seconds();
    const std::scoped_lock lock(mutex_);
    if (to.ends_with("-dead")) ++dead_;
    if (to == topic("out")) ++passed_;
    const std::uint64_t number = number_of(body);
    if (to.ends_with("out") && number >= first_ && number - first_ < sent_.size())
      took_.push_back((now - sent_[number - first_]) * 1e3);
  }

  GcpSite& site_;
  testing::ScratchFolder folder_;
  integration::Process bare_;
  mutable std::mutex mutex_;  // of what follows
  std::uint64_t first_ = 0;
  std::vector<double> sent_;
  std::vector<double> took_;
  std::uint64_t passed_ = 0;
  std::uint64_t dead_ = 0;
};

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void report_latency(Figures& figures) {
  std::map<double, std::vector<double>> bare, worker, added;  // by share; ms of each repeat
  for (int round = 0; round < kLatencyRepeats; ++round) {
    const std::vector<double> without = figures.latency("bare");
    const std::vector<double> with = figures.latency("pass");
    for (const double share : {0.5, 0.99}) {
      bare[share].push_back(percentile(without, share));
      worker[share].push_back(percentile(with, share));
      added[share].push_back(worker[share].back() - bare[share].back());
      std::printf(R"({"bench":"gcp_worker","subject":"latency","percentile":%.2f,"repeat":%d,)"
                  R"("bare_ms":%.2f,"worker_ms":%.2f})"
                  "\n",
                  share, round, bare[share].back(), worker[share].back());
    }
  }
  for (const auto& [share, milliseconds] : added) {
    std::printf(
        "in-limit events at 500/s, p%.0f: bare %.2f ms, worker %.2f ms, added %.2f ms (medians of %d)\n",
        share * 100, median(bare[share]), median(worker[share]), median(milliseconds), kLatencyRepeats);
  }
}

int figures(int argc, char** argv) {
  Comparison table("gcp_worker", argc, argv);
  GcpSite site;
  Figures figures(site);
  Figures::Cpu bare_pass, bare_wait, pass, wait;
  table.add("bare pull, publish, ack", [&] { return figures.work_off(kBarePass, bare_pass); });
  table.add("bare pull, create, ack", [&] { return figures.work_off(kBareWait, bare_wait); });
  table.add("passes through to a topic", [&] { return figures.work_off("pass", pass); });
  table.add("scheduled", [&] { return figures.work_off("wait", wait); });
  table.run();
  table.expect_at_most("passes through to a topic", kPassNanosecondsMax);
  table.expect_at_most("scheduled", kWaitNanosecondsMax);
  const auto judge = [&table](const char* what, const Figures::Cpu& cpu, const Figures::Cpu& bare,
                              double nanoseconds) {
    const std::string name = std::string(what) + ": CPU per event of ";
    table.judge(name + "the worker", median(cpu.process), nanoseconds / 1e3, "us");
    table.judge(name + "Redis", median(cpu.redis), nanoseconds / 1e3, "us");
    std::printf("%s: CPU per event of the fakes %.1f us; of the bare loop %.1f us, of its fakes %.1f us\n",
                what, median(cpu.fakes), median(bare.process), median(bare.fakes));
  };
  judge("passes through", pass, bare_pass, kPassNanosecondsMax);
  judge("scheduled", wait, bare_wait, kWaitNanosecondsMax);
  report_latency(figures);
  const auto created = static_cast<std::uint64_t>(site.tasks().counts().created);
  std::printf("%" PRIu64 " published to out, %" PRIu64 " tasks created, %" PRIu64 " dead letters\n",
              figures.passed(), created, figures.dead());
  table.judge("dead letters", static_cast<double>(figures.dead()), 0, "events");
  table.judge("ack deadlines expired", static_cast<double>(site.pubsub().counts().expired), kExpiredMax,
              "deliveries");
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  using namespace dripgate::bench;
  if (argc == 4 && std::string_view(argv[1]) == kBareFlag) return bare_loops(argv[2], argv[3]);
  return figures(argc, argv);
}
