// Events that are too large for a task, end to end: their bytes wait in the real Redis.
#include <set>

#include <gtest/gtest.h>

#include "integration_gcp/tasks_site.h"

namespace dripgate::integration {
namespace {

constexpr int kEvents = 16;
constexpr std::size_t kNoteBytes = 150'000;

std::string large(int number) {
  return R"({"payoutId": "large_)" + std::to_string(number) +
         R"(", "merchant_id":"8421",  "amount": 2500.00, "note":")" +
         std::string(kNoteBytes + static_cast<std::size_t>(number), 'x') + "\"}";
}

class ClaimsSite : public TasksSite {
 protected:
  ClaimsSite() : TasksSite("[ { limit: 2, window: 1s } ]", ", claimCheck: { redis: {} }") {}

  /// Most of the events are in Cloud Tasks, which holds them.
  void publish_and_wait() {
    tasks.deliver(false);
    start();
    std::string lines;
    for (int i = 0; i < kEvents; ++i) lines += large(i) + "\n";
    ASSERT_EQ(site.publish(lines).code, 0) << site.up_log();
    ASSERT_TRUE(eventually([&] { return site.confirmed_ids().size() + tasks.counts().waiting == kEvents; }))
        << log();
    ASSERT_GE(tasks.counts().waiting, 1u);
  }
  /// A number that Lua makes of all claims: `each` sees the key of one as k and adds to n.
  [[nodiscard]] std::int64_t count(const std::string& each) const {
    return std::stoll(redis.ask(
        {"EVAL", "local n = 0 for _, k in ipairs(redis.call('KEYS', 'claim:*')) do " + each + " end return n",
         "0"}));
  }
};

TEST_F(ClaimsSite, LargeEventsWaitByReferenceAndArriveByteForByte) {
  publish_and_wait();
  for (const auto& [name, task] : tasks.tasks()) EXPECT_TRUE(task.body.empty()) << name;
  EXPECT_EQ(count("n = n + 1"), static_cast<std::int64_t>(tasks.counts().waiting));
  tasks.deliver(true);
  EXPECT_TRUE(delivered(kEvents)) << site.confirmed_ids().size() << log();
  // Each was compared with its digest on the way (drip/ticket.cc).
  std::set<std::size_t> sizes;
  std::set<std::size_t> arrived;
  for (int i = 0; i < kEvents; ++i) sizes.insert(large(i).size());
  for (const SinkLine& line : site.sink_lines()) arrived.insert(line.bytes);
  EXPECT_EQ(arrived, sizes);
  EXPECT_NE(letters().find("0 of 0"), std::string::npos) << letters();
  // Handled, they stay for a grace only.
  EXPECT_TRUE(eventually([&] { return count("n = math.max(n, redis.call('PTTL', k))") <= 600'000; }));
}

TEST_F(ClaimsSite, ALostClaimIsALetterThatSaysSo) {
  publish_and_wait();
  const auto lost = count("n = n + redis.call('DEL', k)");
  EXPECT_EQ(lost, static_cast<std::int64_t>(tasks.counts().waiting));
  tasks.deliver(true);
  ASSERT_TRUE(eventually([&] { return tasks.counts().waiting == 0; })) << log();
  const std::string all = letters();
  EXPECT_NE(all.find("claim_lost"), std::string::npos) << all;
  EXPECT_NE(all.find(std::to_string(lost) + " of " + std::to_string(lost)), std::string::npos) << all;
  EXPECT_EQ(site.confirmed_ids().size() + static_cast<std::size_t>(lost), static_cast<std::size_t>(kEvents));
}

}  // namespace
}  // namespace dripgate::integration
