// A worker on Pub/Sub and Cloud Tasks: events that wait (read, booked in Redis, task created, acked) and
// events that pass to a topic (read, booked, published, done, acked), beside a loop without Dripgate that
// reads, publishes and acks with the same gRPC. Wall time, and the CPU time of all threads of the measured
// process: a machine that others use changes it less. Then the latency of in-limit events at 500 a second,
// again beside that loop; reported, for a shared machine's tail is not a property of the worker.
#include <cinttypes>
#include <filesystem>
#include <map>
#include <mutex>

#include <grpcpp/create_channel.h>

#include "gcp_site.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace dripgate::bench {
namespace {

constexpr std::uint64_t kEvents = 20'000;            // of one repeat
constexpr double kPassNanosecondsMax = 1e9 / 8'000;  // 8,000 events/s
constexpr double kWaitNanosecondsMax = 1e9 / 3'000;  // 3,000 events/s
constexpr double kExpiredMax = 0;                    // ack deadlines
constexpr std::uint64_t kLatencyEvents = 2'000;      // of one repeat ...
constexpr double kLatencyApart = 1.0 / 500;          // ... seconds between them
constexpr int kLatencyRepeats = 5;
constexpr const char* kBareFlag = "--bare";  // this program as the loop without Dripgate
constexpr std::chrono::minutes kPatience{5};

namespace proto = google::pubsub::v1;

void must(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

/// Pull, publish, ack; each response at once and whole. Ends with the server.
int bare_loop(const std::string& endpoint) {
  const auto channel = grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  const auto publisher = proto::Publisher::NewStub(channel);
  const auto subscriber = proto::Subscriber::NewStub(channel);
  const std::string subscription = std::string("projects/") + kProject + "/subscriptions/bare";
  const auto make_topic = [&](const std::string& name) {
    grpc::ClientContext context;
    proto::Topic request, made;
    request.set_name(name);
    must(publisher->CreateTopic(&context, request, &made));
  };
  make_topic(topic("bare"));
  make_topic(topic("bare-out"));
  grpc::ClientContext making;
  proto::Subscription facts, made;
  facts.set_name(subscription);
  facts.set_topic(topic("bare"));
  must(subscriber->CreateSubscription(&making, facts, &made));
  grpc::ClientContext pulling;
  const auto stream = subscriber->StreamingPull(&pulling);
  proto::StreamingPullRequest first;
  first.set_subscription(subscription);
  first.set_stream_ack_deadline_seconds(10);
  first.set_max_outstanding_messages(1'000);
  stream->Write(first);
  proto::StreamingPullResponse response;
  while (stream->Read(&response)) {
    if (response.received_messages_size() == 0) continue;
    proto::PublishRequest publish;
    proto::PublishResponse ids;
    proto::AcknowledgeRequest ack;
    google::protobuf::Empty nothing;
    publish.set_topic(topic("bare-out"));
    ack.set_subscription(subscription);
    for (auto& received : *response.mutable_received_messages()) {
      publish.add_messages()->set_data(std::move(*received.mutable_message()->mutable_data()));
      ack.add_ack_ids(std::move(*received.mutable_ack_id()));
    }
    grpc::ClientContext of_publish, of_ack;
    must(publisher->Publish(&of_publish, publish, &ids));
    must(subscriber->Acknowledge(&of_ack, ack, &nothing));
  }
  return 0;
}

class Figures {
 public:
  explicit Figures(GcpSite& site)
      : site_(site),
        bare_({kBareFlag, site.pubsub().endpoint()}, folder_.path("bare"),
              std::filesystem::read_symlink("/proc/self/exe").string()) {
    site_.pubsub().listen([this](const std::string& to, const std::string& body) { heard(to, body); });
    const bool pulls = integration::eventually([&] { return site_.pubsub().counts().streams >= 4; });
    if (!pulls) throw std::runtime_error("no bare loop: " + bare_.err());
  }
  ~Figures() { site_.pubsub().listen({}); }

  struct Cpu {
    std::vector<double> process, redis;  // us per event of each repeat
  };

  /// `to`: whose topic; `worker`: else the bare loop.
  std::uint64_t work_off(const std::string& to, Cpu& cpu) {
    const pid_t process = to == "bare" ? bare_.pid() : site_.worker();
    const double own = cpu_seconds(process);
    const double redis = cpu_seconds(site_.redis());
    const std::uint64_t all = site_.acked() + kEvents;
    site_.publish(to, kEvents);
    if (!integration::eventually([&] { return site_.acked() >= all; }, kPatience))
      throw std::runtime_error(to + " stands still: " + site_.log() + bare_.err());
    cpu.process.push_back((cpu_seconds(process) - own) / kEvents * 1e6);
    cpu.redis.push_back((cpu_seconds(site_.redis()) - redis) / kEvents * 1e6);
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
  Figures::Cpu bare, pass, wait;
  table.add("bare loop", [&] { return figures.work_off("bare", bare); });
  table.add("passes through to a topic", [&] { return figures.work_off("pass", pass); });
  table.add("scheduled", [&] { return figures.work_off("wait", wait); });
  table.run();
  table.expect_at_most("passes through to a topic", kPassNanosecondsMax);
  table.expect_at_most("scheduled", kWaitNanosecondsMax);
  const auto judge = [&table](const char* what, const Figures::Cpu& cpu, double nanoseconds) {
    const std::string name = std::string(what) + ": CPU per event of ";
    table.judge(name + "the worker", median(cpu.process), nanoseconds / 1e3, "us");
    table.judge(name + "Redis", median(cpu.redis), nanoseconds / 1e3, "us");
  };
  judge("passes through", pass, kPassNanosecondsMax);
  judge("scheduled", wait, kWaitNanosecondsMax);
  std::printf("bare loop: CPU per event %.1f us; the worker that passes it through takes %.2f times that\n",
              median(bare.process), median(pass.process) / median(bare.process));
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
  if (argc == 3 && std::string_view(argv[1]) == kBareFlag) return bare_loop(argv[2]);
  return figures(argc, argv);
}
