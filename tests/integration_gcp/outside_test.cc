// Google's own client for Python beside Dripgate on the same queues.
#include <gtest/gtest.h>

#include "integration_gcp/tasks_site.h"
#include "integration_pubsub/site.h"

namespace dripgate::integration {
namespace {

constexpr int kEvents = 16;

class OutsideClient : public TasksSite {
 protected:
  OutsideClient() : TasksSite("[ { limit: 2, window: 1s } ]") {}
};

TEST_F(OutsideClient, SeesTheTasksAndWhatItAddsIsNeitherDeliveredTwiceNorBelieved) {
  note_skip("aertje/cloud-tasks-emulator", "its Go module (v1.2.0) was not to be had");
  const std::string root = std::string(DRIPGATE_SOURCE_DIR) + "/build/pubsub";
  if (read_file(root + "/version").find("tasks") == std::string::npos) {
    note_skip("google-cloud-tasks for Python", "not in build/pubsub: ./dev test installs it");
    GTEST_SKIP() << "google-cloud-tasks is not installed in build/pubsub";
  }
  tasks.deliver(false);
  start();
  std::string lines;
  for (int i = 0; i < kEvents; ++i) {
    lines +=
        R"({"payoutId": "pay_)" + std::to_string(i) + "\", \"merchant_id\":\"8421\",  \"amount\": 2500.00}\n";
  }
  ASSERT_EQ(site.publish(lines).code, 0) << site.up_log();
  ASSERT_TRUE(eventually([&] { return site.confirmed_ids().size() + tasks.counts().waiting == kEvents; }))
      << log();
  const std::string queues = "projects/acme/locations/asia-south1/queues/payouts-";
  Process client({std::string(DRIPGATE_SOURCE_DIR) + "/tests/integration_gcp/outside_client.py",
                  tasks.endpoint(), queues + "1", queues + "2"},
                 site.folder.path("client"), root + "/venv/bin/python");
  ASSERT_EQ(client.exit_code(), 0) << client.out() << client.err();
  note_run(client.out().substr(0, client.out().find('\n')));
  tasks.deliver(true);
  EXPECT_TRUE(delivered(kEvents)) << site.confirmed_ids().size() << log();
  ASSERT_TRUE(eventually([&] { return letters().find("poison") != std::string::npos; })) << letters();
  EXPECT_EQ(site.sink_lines().size(), static_cast<std::size_t>(kEvents)) << "each once, the forged one never";
}

}  // namespace
}  // namespace dripgate::integration
