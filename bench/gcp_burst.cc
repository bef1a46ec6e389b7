// One burst of two million events through a worker on Pub/Sub and Cloud Tasks with the default flow control
// (1,000 messages outstanding), nearly all of it booked ahead: how much the worker's resident set grows from
// event 100,000 on. Before it ack deadlines, on Google's own emulator where it is installed and on our fake:
// a burst whose handling takes three times the ack deadline of 10 s; a message that is delivered twice is a
// deadline that expired.
#include <cinttypes>
#include <map>
#include <mutex>

#include "broker/pubsub/broker.h"
#include "broker/pubsub/connect.h"
#include "gcp_site.h"
#include "runtime/loop.h"
#include "runtime/real_clock.h"

namespace dripgate::bench {
namespace {

using namespace std::chrono_literals;
namespace pubsub = broker::pubsub;

constexpr std::uint64_t kBurstEvents = 2'000'000;
constexpr std::uint64_t kBurstFirst = 100'000;
constexpr std::uint64_t kBurstAhead = 20'000;  // unacked in the fake, whose memory is not the subject
constexpr std::uint64_t kBurstStep = 2'000;
constexpr double kBurstSecondsMax = 1'200;
constexpr double kGrowthMax = 20;  // MB

constexpr int kAckDeadlineSeconds = 10;
constexpr Duration kHandling = 3 * kAckDeadlineSeconds * 1s;
constexpr std::size_t kHeldEvents = 1'000;  // the emulator sends everything at once: as many as may be out
constexpr std::size_t kHeldLong = 3'000;    // of our fake, which sends no more than may be out
constexpr double kExpiredMax = 0;
constexpr std::chrono::minutes kHeldPatience{3};

void burst(Comparison& table) {
  GcpSite site;
  const double start = wall_seconds();
  double at_first = 0, most = 0;
  std::uint64_t acked = 0;
  while (acked < kBurstEvents && wall_seconds() < start + kBurstSecondsMax) {
    while (site.published() < kBurstEvents && site.published() - acked < kBurstAhead)
      site.publish("burst", kBurstStep);
    integration::let_pass(5ms);
    acked = site.acked();
    const double now = resident_megabytes(site.worker());
    if (at_first == 0 && acked >= kBurstFirst) at_first = now;
    if (at_first != 0) most = std::max(most, now);
  }
  const double seconds = wall_seconds() - start;
  const auto created = static_cast<std::uint64_t>(site.tasks().counts().created);
  std::printf("%" PRIu64 " events in %.0f s (%.0f/s), %" PRIu64
              " of them scheduled; resident %.1f MB at event %" PRIu64
              ", at most %.1f MB after; "
              "CPU of the worker %.1f us per event\n",
              acked, seconds, static_cast<double>(acked) / seconds, created, at_first, kBurstFirst, most,
              cpu_seconds(site.worker()) / static_cast<double>(acked) * 1e6);
  table.judge("events of the burst that did not go through", static_cast<double>(kBurstEvents - acked), 0,
              "events");
  table.judge("growth of the worker", most - at_first, kGrowthMax, "MB");
  table.judge("ack deadlines expired in the burst", static_cast<double>(site.pubsub().counts().expired),
              kExpiredMax, "deliveries");
}

/// Google's emulator in a process of its own; Debian has no package of it.
class Emulator {
 public:
  /// False: it is not installed.
  bool start() {
    const std::string list = folder_.path("jar");
    integration::Process look(
        {"-c", "dpkg -L google-cloud-cli-pubsub-emulator | grep '\\.jar$' && test -x /usr/bin/java"}, list,
        "/bin/sh");
    if (look.exit_code() != 0) return false;
    const std::string jar = look.out().substr(0, look.out().find('\n'));
    java_ = std::make_unique<integration::Process>(
        std::vector<std::string>{"-Xmx512m", "-jar", jar, "--host=127.0.0.1",
                                 "--port=" + std::to_string(port_)},
        folder_.path("emulator"), "/usr/bin/java");
    const bool up = integration::eventually([&] {
      return (java_->out() + java_->err()).find("Server started") != std::string::npos || !java_->running();
    });
    if (!up || !java_->running()) throw std::runtime_error("no emulator: " + java_->err());
    return true;
  }
  [[nodiscard]] std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  testing::ScratchFolder folder_;
  std::uint16_t port_ = testing::free_port();
  std::unique_ptr<integration::Process> java_;
};

/// Counts what arrives before the source sees it.
class Counting final : public pubsub::Transport {
 public:
  struct Seen {
    std::mutex mutex;
    std::map<std::string, int> times;  // by Pub/Sub's message id
  };
  Counting(std::unique_ptr<pubsub::Transport> inner, Seen& seen) : inner_(std::move(inner)), seen_(seen) {}

  void publish(const std::string& to, std::span<const pubsub::WireMessage> messages, Duration deadline,
               pubsub::Answered<std::vector<std::string>> done) override {
    inner_->publish(to, messages, deadline, std::move(done));
  }
  void acknowledge(const std::string& subscription, std::span<const std::string> ids, Duration deadline,
                   pubsub::Answered<void> done) override {
    inner_->acknowledge(subscription, ids, deadline, std::move(done));
  }
  void modify_ack_deadline(const std::string& subscription, std::span<const std::string> ids, int seconds,
                           Duration deadline, pubsub::Answered<void> done) override {
    inner_->modify_ack_deadline(subscription, ids, seconds, deadline, std::move(done));
  }
  std::unique_ptr<pubsub::PullStream> pull(const pubsub::PullOptions& options,
                                           pubsub::PullHandler handler) override {
    handler.pulled = [this, pulled = std::move(handler.pulled)](pubsub::Pulled got) {
      {
        const std::scoped_lock lock(seen_.mutex);
        for (const pubsub::Received& received : got.messages) ++seen_.times[received.message.id];
      }
      pulled(std::move(got));
    };
    return inner_->pull(options, std::move(handler));
  }

 private:
  std::unique_ptr<pubsub::Transport> inner_;
  Seen& seen_;
};

void must(const pubsub::Answer<void>& answer) {
  if (!answer) throw std::runtime_error(answer.error().text);
}

/// `count` messages at once, each held for kHandling before its ack.
void deadlines(Comparison& table, const std::string& server, const std::string& endpoint, std::size_t count) {
  runtime::Loop loop;
  runtime::RealClock clock;
  auto connection = pubsub::connect({.target = endpoint, .plaintext = true}, {}, loop);
  if (!connection) throw std::runtime_error(connection.error().detail);
  const std::string subscription = pubsub::subscription_name(kProject, "held");
  must(connection->admin->create_topic(topic("held")));
  must(connection->admin->create_subscription(
      subscription, {.topic = topic("held"), .ack_deadline_seconds = kAckDeadlineSeconds}));
  Counting::Seen seen;
  std::atomic<std::size_t> published = 0, acked = 0, failed = 0;
  auto broker = std::make_unique<pubsub::Broker>(
      std::make_unique<Counting>(std::move(connection->transport), seen), loop, clock,
      pubsub::Options{.project = kProject, .instance = "bench"});
  std::unique_ptr<broker::Publisher> publisher;
  std::unique_ptr<broker::EventSource> source;
  loop.start([] {});
  loop.run([&] {
    publisher = broker->publisher("held");
    for (std::uint64_t i = 0; i < count; ++i)
      publisher->publish({.id = {}, .body = event_body(i), .attributes = {}, .published = {}},
                         [&](const Result<void>& done) { ++(done ? published : failed); });
  });
  (void)integration::eventually([&] { return published + failed == count; }, kHeldPatience);
  loop.run([&] {
    source = broker->source("held", 1);
    source->start({}, [&](const broker::Delivery& delivery) {
      loop.post_after(kHandling, [&, token = delivery.token] {
        source->ack(token, [&](const Result<void>& done) { ++(done ? acked : failed); });
      });
    });
  });
  (void)integration::eventually([&] { return acked + failed >= count; }, kHeldPatience);
  loop.run([&] {
    source.reset();
    publisher.reset();
    broker.reset();
  });
  loop.stop();
  int again = 0;
  for (const auto& [id, times] : seen.times) again += times - 1;
  std::printf("%s: %zu messages held for %lld s each under leases of %d s, %zu acked\n", server.c_str(),
              seen.times.size(), static_cast<long long>(kHandling / 1s), kAckDeadlineSeconds, acked.load());
  table.judge("messages not acked, " + server, static_cast<double>(count - acked), 0, "messages");
  table.judge("ack deadlines expired, " + server, again, kExpiredMax, "deliveries");
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  using namespace dripgate::bench;
  Comparison table("gcp_burst", argc, argv);
  Emulator emulator;
  if (emulator.start()) {
    deadlines(table, "Google's emulator", emulator.endpoint(), kHeldEvents);
  } else {
    std::printf("did not run: ack deadlines on Google's emulator (it or java is not installed)\n");
  }
  {
    dripgate::testing::PubsubFake fake;
    deadlines(table, "our fake", fake.endpoint(), kHeldLong);
  }
  burst(table);
  return table.verdict();
}
