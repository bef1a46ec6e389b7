#include "integration_pubsub/site.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "broker/gcp/channels.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
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

/// pstest, in memory too; one message per response.
class PstestServer final : public Server {
 public:
  static std::string program() { return std::string(DRIPGATE_SOURCE_DIR) + "/build/pstest/pstest"; }

  PstestServer() : process_({}, folder_.path("pstest"), program()) {
    constexpr std::string_view kMark = "listening on ";
    (void)eventually([&] { return process_.out().ends_with('\n') || !process_.running(); });
    const std::string line = process_.out();
    if (line.starts_with(kMark)) endpoint_ = line.substr(kMark.size(), line.find('\n') - kMark.size());
  }
  std::string endpoint() const override { return endpoint_; }
  int scale() const override { return 1; }
  int burst() const override { return 300; }

 private:
  testing::ScratchFolder folder_;
  Process process_;
  std::string endpoint_;
};

/// Of the module file beside its source.
std::string pstest_version() {
  const std::string text =
      read_file(std::string(DRIPGATE_SOURCE_DIR) + "/tests/integration_pubsub/pstest/go.mod");
  constexpr std::string_view kModule = "cloud.google.com/go/pubsub/v2 ";
  const std::size_t at = text.find(kModule);
  return at == std::string::npos
             ? ""
             : text.substr(at + kModule.size(),
                           text.find_first_of(" \n", at + kModule.size()) - at - kModule.size());
}

}  // namespace

std::unique_ptr<Server> make_pstest(std::string& why) {
  if (read_file(PstestServer::program()).empty()) {
    why = "not in build/pstest: ./dev test builds it where there is a Go of 1.25";
    note_skip("pstest", why);
    return nullptr;
  }
  auto server = std::make_unique<PstestServer>();
  if (server->endpoint().empty()) {
    why = "it did not start";
    note_skip("pstest", why);
    return nullptr;
  }
  note_run("pstest " + pstest_version());
  return server;
}

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
    : endpoint(server.endpoint()), loop(server.scale()), clock(runtime::RealClock{}.now(), server.scale()) {
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

bool Side::make_exactly_once(const std::string& topic, const std::string& subscription) {
  namespace proto = google::pubsub::v1;
  EXPECT_TRUE(admin->create_topic(pubsub::topic_name(kProject, topic)));
  const auto stub =
      proto::Subscriber::NewStub(grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()));
  proto::Subscription wanted;
  wanted.set_name(pubsub::subscription_name(kProject, subscription));
  wanted.set_topic(pubsub::topic_name(kProject, topic));
  wanted.set_ack_deadline_seconds(10);
  wanted.set_enable_exactly_once_delivery(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  proto::Subscription made;
  const grpc::Status status = stub->CreateSubscription(&context, wanted, &made);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return status.ok() && made.enable_exactly_once_delivery();
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

void Taker::ack(std::uint64_t token, std::function<void(const Result<void>&)> told) {
  source_->ack(token, [this, token, told = std::move(told)](const Result<void>& done) {
    if (told) told(done);
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
