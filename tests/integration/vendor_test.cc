// A stream that delivers to a vendor, and an operator who stops it: the real binary against
// `dripgate sink --vendor`.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integration/processes.h"

namespace dripgate::integration {
namespace {

using nlohmann::json;

/// Ten calls in two seconds are what the vendor takes; we believe in a hundred times as much. Slack tells
/// nothing but Retry-After, so that only its 429s can stop us. One attempt: a refusal that counted as one
/// would be a dead letter.
StreamPlan plan_of_vendor() {
  return {.limits = "[ { rps: 500 } ]",
          .more =
              "vendors:\n  - id: chat\n    key: \"{merchant_id}\"\n    profile: slack\n"
              "    limits: [ { rps: 500 } ]\n    onStoreFailure: closed\n",
          .deliver_more = ", maxAttempts: 1, vendor: chat",
          .sink_options = {"--vendor", "slack", "--limit", "10/2s"}};
}

long with_status(const Processes& processes, int status) {
  return std::ranges::count(processes.sink_lines(), status, &SinkLine::status);
}

/// When the vendor took a call, in its order.
std::vector<std::string> times_taken(const Processes& processes) {
  std::vector<std::string> times;
  std::istringstream log(read_file(processes.folder.path("sink.log")));
  for (std::string line; std::getline(log, line);) {
    const json call = json::parse(line, nullptr, false);
    if (call.is_object() && call.value("status", 0) == 200) times.push_back(call.value("time", ""));
  }
  return times;
}

json asked(Processes& processes, std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Finished done = processes.ask(std::move(arguments));
  EXPECT_EQ(done.code, 0) << done.err;
  return json::parse(done.out, nullptr, false);
}

TEST(VendorOfAStream, RealRefusalsFreezeTheKeyAndCostNoAttemptAndNoEvent) {
  Processes processes(plan_of_vendor());
  ASSERT_TRUE(processes.start()) << processes.up_log();
  constexpr long kEvents = 35;
  EXPECT_EQ(processes.publish(payout_lines("p", kEvents, 1)).code, 0);
  ASSERT_TRUE(eventually([&] { return with_status(processes, 200) >= kEvents; })) << processes.up_log();
  EXPECT_GE(with_status(processes, 429), 1) << "the vendor did refuse";
  const json state = asked(processes, {"vendor", "inspect", "chat", "--attr", "merchant_id=m0"});
  EXPECT_EQ(state.value("key", ""), "chat:m0") << "the key names a member of the payload";
  ASSERT_TRUE(eventually([&] {
    return asked(processes, {"vendor", "inspect", "chat", "--attr", "merchant_id=m0"})
               .value("inFlight", -1) == 0;
  }));
  EXPECT_TRUE(asked(processes, {"dlq", "list", "payouts"}).at("deadLetters").empty());
  EXPECT_EQ(with_status(processes, 200), kEvents);
}

TEST(VendorOfAStream, AnOperatorStopsAKeyForAWhileAndNoOther) {
  Processes processes(plan_of_vendor());
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const json frozen =
      asked(processes, {"vendor", "freeze", "chat", "--attr", "merchant_id=m0", "--for", "3s"});
  const std::string until = frozen.value("frozenUntil", "");
  ASSERT_FALSE(until.empty()) << frozen.dump();
  EXPECT_EQ(processes.publish(payout_lines("p", 4, 2)).code, 0);  // m1, m0, m1, m0
  ASSERT_TRUE(eventually([&] { return with_status(processes, 200) == 4; })) << processes.up_log();
  const std::vector<std::string> times = times_taken(processes);
  ASSERT_EQ(times.size(), 4U);
  EXPECT_GE(times[2], until) << "the frozen key's two";
  EXPECT_EQ(processes.ask({"vendor", "freeze", "chat", "--attr", "merchant_id=m0", "--for", "1h"}).code, 0);
  const Finished thawed = processes.ask({"vendor", "thaw", "chat", "--attr", "merchant_id=m0"});
  EXPECT_EQ(thawed.out, "chat:m0 is not frozen any more\n") << thawed.err;
  EXPECT_TRUE(asked(processes, {"vendor", "inspect", "chat", "--attr", "merchant_id=m0"})
                  .at("frozenUntil")
                  .is_null());
  const Finished wrong = processes.ask({"vendor", "freeze", "caht", "--for", "1s"});
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE(wrong.err.find("known: chat"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace dripgate::integration
