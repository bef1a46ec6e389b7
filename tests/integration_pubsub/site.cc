#include "integration_pubsub/site.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "broker/gcp/channels.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {
namespace {

struct Notes : ::testing::Environment {
  static Notes& one() {
    static auto* notes = static_cast<Notes*>(::testing::AddGlobalTestEnvironment(new Notes));
    return *notes;
  }
  void TearDown() override {
    std::string line;
    for (const std::string& what : ran) line += (line.empty() ? "" : ", ") + what;
    std::printf("ran on: %s\n", line.c_str());
    for (const auto& [what, why] : skipped)
      std::printf("did not run on: %s (%s)\n", what.c_str(), why.c_str());
    const broker::gcp::LibraryEnd end;
  }
  std::set<std::string> ran;
  std::map<std::string, std::string> skipped;
};
[[maybe_unused]] const Notes& kNotes = Notes::one();

class FakeServer final : public Server {
 public:
  explicit FakeServer(int scale) : scale_(scale), fake_(scale) {}
  std::string endpoint() const override { return fake_.endpoint(); }
  int scale() const override { return scale_; }
  testing::PubsubFake* fake() override { return &fake_; }

 private:
  int scale_;
  testing::PubsubFake fake_;
};

/// Google's emulator; Debian has no package of it.
struct Emulator {
  static Emulator& one() {
    static Emulator emulator;
    return emulator;
  }
  Emulator() {
    const Finished listed =
        run_tool({"-c", "dpkg -L google-cloud-cli-pubsub-emulator | grep '\\.jar$' && command -v java"});
    if (listed.code != 0) {
      why = "google-cloud-cli-pubsub-emulator or java is not installed";
      return;
    }
    const std::string jar = listed.out.substr(0, listed.out.find('\n'));
    const std::string free =
        run_tool({"-c",
                  "python3 -c \"import socket; s=socket.socket(); s.bind(('127.0.0.1',0)); "
                  "print(s.getsockname()[1])\""})
            .out;
    port = free.substr(0, free.find('\n'));
    process = std::make_unique<Process>(
        std::vector<std::string>{"-Xmx512m", "-jar", jar, "--host=127.0.0.1", "--port=" + port},
        folder.path("emulator"), "/usr/bin/java");
    const bool up = eventually([&] {
      return (process->out() + process->err()).find("Server started") != std::string::npos ||
             !process->running();
    });
    if (!up || !process->running()) why = "it did not start: " + process->err();
    const std::size_t version = jar.find("cloud-pubsub-emulator-");
    name = version == std::string::npos ? jar : jar.substr(version, jar.find("-all") - version);
  }
  Finished run_tool(const std::vector<std::string>& arguments) {
    Process tool(arguments, folder.path("tool"), "/bin/sh");
    const int code = tool.exit_code().value_or(-1);
    return {code, tool.out(), tool.err()};
  }

  testing::ScratchFolder folder;
  std::string port, why, name;
  std::unique_ptr<Process> process;
};

class EmulatorServer final : public Server {
 public:
  std::string endpoint() const override { return "127.0.0.1:" + Emulator::one().port; }
  int scale() const override { return 1; }
};

}  // namespace

void note_run(const std::string& what) {
  Notes::one().ran.insert(what);
}

void note_skip(const std::string& what, const std::string& why) {
  Notes::one().skipped[what] = why;
}

std::unique_ptr<Server> make_fake(std::string&) {
  note_run("own fake");
  return std::make_unique<FakeServer>(kFakeScale);
}

std::unique_ptr<Server> make_real_time_fake() {
  note_run("own fake");
  return std::make_unique<FakeServer>(1);
}

std::unique_ptr<Server> make_emulator(std::string& why) {
  why = Emulator::one().why;
  if (!why.empty()) {
    note_skip("Google's Pub/Sub emulator", why);
    return nullptr;
  }
  note_run("Google's emulator " + Emulator::one().name);
  return std::make_unique<EmulatorServer>();
}

Side::Side(Server& server, const std::string& instance)
    : loop(server.scale()), clock(runtime::RealClock{}.now(), server.scale()) {
  auto connection = pubsub::connect({.target = server.endpoint(), .plaintext = true}, {}, loop);
  EXPECT_TRUE(connection) << connection.error().detail;
  admin = std::move(connection->admin);
  broker = std::make_unique<pubsub::Broker>(std::move(connection->transport), loop, clock,
                                            pubsub::Options{.project = kProject, .instance = instance});
  loop.start([] {});
}

Side::~Side() {
  loop.run([this] { broker.reset(); });
  loop.stop();
}

Result<void> Side::make(const std::string& topic, const std::string& subscription) {
  pubsub::StreamPlaces places{.stream = "s",
                              .source = {},
                              .overflow_topic = pubsub::topic_name(kProject, topic),
                              .overflow_subscription = pubsub::subscription_name(kProject, subscription),
                              .dead_letter_topic = {},
                              .deliver_topic = {}};
  auto made = pubsub::check_places(*admin, {&places, 1}, true);
  if (!made) return std::unexpected(made.error());
  return {};
}

void Side::publish(const std::string& topic, std::vector<broker::Message> messages) {
  auto confirmed = std::make_shared<std::atomic<std::size_t>>(0);
  std::unique_ptr<broker::Publisher> publisher;
  const std::size_t count = messages.size();
  run([&] {
    publisher = broker->publisher(topic);
    for (broker::Message& message : messages) {
      publisher->publish(std::move(message), [confirmed](Result<void> done) {
        EXPECT_TRUE(done) << done.error().detail;
        ++*confirmed;
      });
    }
  });
  EXPECT_TRUE(eventually([&] { return *confirmed == count; })) << *confirmed << " of " << count;
  run([&] { publisher.reset(); });
}

Taker::Taker(Side& side, const std::string& subscription, broker::FlowControl flow, Handle handle,
             int streams)
    : side_(side), handle_(std::move(handle)) {
  side_.run([&] {
    source_ = side_.broker->source(subscription, streams);
    source_->start(flow, [this](broker::Delivery delivery) {
      {
        const std::scoped_lock lock(mutex_);
        bodies_[delivery.token] = delivery.message.body;
        out_max_ = std::max(out_max_, bodies_.size());
        got_.push_back(delivery);
      }
      handle_ ? handle_(*this, delivery) : ack(delivery.token);
    });
  });
}

Taker::~Taker() {
  side_.run([&] { source_.reset(); });
}

void Taker::ack(std::uint64_t token) {
  source_->ack(token, [this, token](Result<void> done) {
    const std::scoped_lock lock(mutex_);
    const auto body = bodies_.find(token);
    if (body == bodies_.end()) return;
    if (done) acked_.insert(body->second);
    bodies_.erase(body);
  });
}

void Taker::pause(bool on) {
  side_.run([&] { on ? source_->pause() : source_->resume(); });
}

std::vector<broker::Delivery> Taker::got() const {
  const std::scoped_lock lock(mutex_);
  return got_;
}

std::set<std::string> Taker::acked() const {
  const std::scoped_lock lock(mutex_);
  return acked_;
}

std::size_t Taker::out_max() const {
  const std::scoped_lock lock(mutex_);
  return out_max_;
}

}  // namespace dripgate::integration
