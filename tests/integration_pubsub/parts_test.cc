// worker, dispatch and consume as processes of their own between a Pub/Sub and a real Redis; and Google's own
// client for Python as publisher and subscriber at both ends.
#include <algorithm>
#include <cstdlib>

#include "integration_pubsub/site.h"
#include "support/redis/redis_server.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {
namespace {

constexpr int kEvents = 100;
constexpr std::size_t kPerSecond = 20;

std::string payout(int number) {
  return "{\"payoutId\":\"p" + std::to_string(number) + "\",\"merchant_id\":\"m\",\"amount\":2500.00}";
}

class PubsubParts : public ::testing::Test {
 protected:
  void SetUp() override {
    // Tests of this program share the variables of its process.
    ::unsetenv("PUBSUB_EMULATOR_HOST");
    write_config("endpoint: \"" + server_->endpoint() + "\", plaintext: true");
  }
  void write_config(const std::string& pubsub) {
    write_file(folder_.path("dripgate.yaml"),
               "store: { redis: { url: \"redis://" + redis_.address() + "\" } }\n" +
                   "gcp: { project: test-project, pubsub: { " + pubsub + " } }\n" +
                   "streams:\n  - id: payouts\n    source: { pubsub: payouts }\n    eventId: \"{payoutId}\"\n"
                   "    key: \"merchant_{merchant_id}\"\n    limits: [ { rps: " +
                   std::to_string(kPerSecond) + " } ]\n    deliver: { topic: payouts-out }\n");
  }
  std::unique_ptr<Process> part(const std::string& verb, const std::string& more = "--create") {
    std::vector<std::string> words{verb, "-c", folder_.path("dripgate.yaml")};
    if (!more.empty()) words.push_back(more);
    auto process = std::make_unique<Process>(words, folder_.path(verb + std::to_string(++parts_)));
    (void)eventually([&] { return process->err().find(" up ") != std::string::npos || !process->running(); });
    return process;
  }
  static std::string attribute(const broker::Delivery& delivery, std::string_view name) {
    const std::string* value = broker::find(delivery.message.attributes, name);
    return value == nullptr ? "" : *value;
  }

  testing::ScratchFolder folder_;
  testing::RedisServer redis_{{.lines = {"appendonly yes", "appendfsync always"}}};
  std::unique_ptr<Server> server_ = make_real_time_fake();
  int parts_ = 0;
};

/// What a killed worker or dispatcher had let go waits for its release lease (60 s): longer than a suite may
/// take, so by default only the consumer is killed.
bool kills_all() {
  return std::getenv("DRIPGATE_PUBSUB_KILL_ALL") != nullptr;
}

TEST_F(PubsubParts, ABurstGoesThroughAtTheLimitWhoeverIsKilled) {
  Side side(*server_);
  ASSERT_TRUE(side.make("payouts-out", "reader"));
  ASSERT_TRUE(side.make("payouts-dlq", "letters"));
  auto worker = part("worker");
  ASSERT_TRUE(worker->running()) << worker->err();
  auto dispatch = part("dispatch");
  auto consume = part("consume");
  std::vector<broker::Message> burst;
  for (int i = 0; i < kEvents; ++i) burst.push_back({"", payout(i), {}, {}});
  burst.push_back({"", "{\"merchant_id\":\"m\"}", {{"from", "test"}}, {}});
  burst.push_back({"", "[", {}, {}});
  side.publish("payouts", std::move(burst));
  Taker out(side, "reader");
  Taker letters(side, "letters");
  ASSERT_TRUE(eventually([&] { return out.acked().size() >= kPerSecond; })) << worker->err();
  consume->kill_hard();
  if (kills_all()) {
    worker->kill_hard();
    dispatch->kill_hard();
    worker = part("worker", "");
    dispatch = part("dispatch", "");
  }
  consume = part("consume", "");
  const auto missing = [&] {
    const std::set<std::string> there = out.acked();
    int count = 0;
    for (int i = 0; i < kEvents; ++i) count += there.contains(payout(i)) ? 0 : 1;
    return count;
  };
  ASSERT_TRUE(eventually([&] { return missing() == 0; }, 2 * kPatience))
      << missing() << worker->err() << dispatch->err() << consume->err();
  std::map<std::string, std::set<std::string>> released;  // second -> releases
  for (const broker::Delivery& delivery : out.got()) {
    const std::string at = attribute(delivery, broker::kReleasedAttribute);
    ASSERT_FALSE(at.empty());
    released[at.substr(0, std::string("2026-08-03T14:02:00").size())].insert(
        attribute(delivery, broker::kIdAttribute) + at);
  }
  for (const auto& [second, releases] : released) EXPECT_LE(releases.size(), kPerSecond) << second;
  ASSERT_TRUE(eventually([&] { return letters.acked().contains("["); })) << worker->err();
  EXPECT_FALSE(attribute(letters.got()[0], "dripgate-reason").empty());
}

TEST_F(PubsubParts, SayInOneSentenceWhatIsMissing) {
  const auto worker = part("worker", "");
  EXPECT_NE(worker->exit_code(), 0);
  EXPECT_NE(worker->err().find("there is no projects/test-project/"), std::string::npos) << worker->err();
  EXPECT_NE(worker->err().find("--create"), std::string::npos) << worker->err();
  write_file(folder_.path("key.json"), "{\"type\": \"impersonated_service_account\"}");
  ::setenv("GOOGLE_APPLICATION_CREDENTIALS", folder_.path("key.json").c_str(), 1);
  write_config("endpoint: \"127.0.0.1:1\"");
  const auto other = part("worker", "");
  ::unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
  EXPECT_NE(other->exit_code(), 0);
  EXPECT_NE(
      other->err().find("impersonated_service_account, which this build cannot use; accepted: a key file"),
      std::string::npos)
      << other->err();
}

/// `./dev test` installs it; Debian has no package of it.
std::string outside_python() {
  return std::string(DRIPGATE_SOURCE_DIR) + "/build/pubsub/venv/bin/python";
}

TEST_F(PubsubParts, ServeGooglesClientForPythonAtBothEnds) {
  if (read_file(std::string(DRIPGATE_SOURCE_DIR) + "/build/pubsub/version").empty()) {
    note_skip("google-cloud-pubsub for Python", "not in build/pubsub: ./dev test installs it");
    GTEST_SKIP() << "google-cloud-pubsub is not installed in build/pubsub";
  }
  Side side(*server_);
  ASSERT_TRUE(side.make("payouts-out", "reader"));
  auto worker = part("worker");
  ASSERT_TRUE(worker->running()) << worker->err();
  ::setenv("PUBSUB_EMULATOR_HOST", server_->endpoint().c_str(), 1);
  const std::string script = std::string(DRIPGATE_SOURCE_DIR) + "/tests/integration_pubsub/outside_client.py";
  Process client({script, "test-project", "payouts", "reader", "15"}, folder_.path("client"),
                 outside_python());
  const auto code = client.exit_code();
  ::unsetenv("PUBSUB_EMULATOR_HOST");
  ASSERT_EQ(code, 0) << client.out() << client.err() << worker->err();
  EXPECT_NE(client.out().find("15 of 15"), std::string::npos) << client.out();
  note_run(client.out().substr(0, client.out().find('\n')));
}

}  // namespace
}  // namespace dripgate::integration
