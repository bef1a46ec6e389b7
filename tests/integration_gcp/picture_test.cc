// The picture of the original design end to end: bursts on Pub/Sub leave it window by window through Cloud
// Tasks, the dispatcher and the overflow topic; on our Pub/Sub and on Google's emulator.
#include "integration_gcp/picture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace dripgate::integration {
namespace {

constexpr Duration kWindow{5s};
constexpr std::size_t kLimit = 100;
constexpr int kPayouts = 500;

struct PubsubKind {
  std::string name;
  MakeServer make;
};

std::unique_ptr<Server> real_time_fake(std::string&) {
  return make_real_time_fake();
}

/// Full windows but for the first and the last, together at most two; empty: it is so.
std::string unlike_full_windows(const std::map<std::int64_t, std::size_t>& windows, std::size_t limit) {
  std::string text;
  bool full = true;
  for (auto at = windows.begin(); at != windows.end(); ++at) {
    text += std::to_string(at->first) + ": " + std::to_string(at->second) + "\n";
    const bool edge = at == windows.begin() || std::next(at) == windows.end();
    full = full && at->second <= limit && (edge || at->second == limit);
    full = full && (edge || std::next(at)->first == at->first + 1);
  }
  return full ? "" : text;
}

/// For the record of a run: "100 100 100 100 100".
void print(const Picture& picture, Duration window, int rebooked) {
  for (const auto& [key, counts] : picture.windows(window)) {
    std::printf("%s, by window:", key.c_str());
    for (const auto& [at, count] : counts) std::printf(" %zu", count);
    std::printf("; rebooked: %d\n", rebooked);
  }
}

class Picture500 : public ::testing::TestWithParam<PubsubKind> {};

TEST_P(Picture500, PayoutsAtOnceLeaveAHundredAWindowAndTheSourceIsEmptyAtOnce) {
  std::string why;
  const auto pubsub = GetParam().make(why);
  if (pubsub == nullptr) GTEST_SKIP() << why;
  Picture picture(*pubsub, {});
  picture.start_all();
  // Early in a window, so that "at once" is one window.
  ASSERT_TRUE(eventually([&] { return picture.side.clock.now().time_since_epoch() % kWindow < 200ms; }));
  picture.publish(odd_payouts(kPayouts));

  ASSERT_TRUE(eventually([&] { return picture.tasks.counts().created >= kPayouts - int{kLimit}; }))
      << picture.tasks.counts().created << picture.log();
  ASSERT_TRUE(eventually([&] { return picture.metric("worker", "dripgate_in_flight") == 0; }));
  EXPECT_GT(picture.tasks.counts().waiting, 0u) << "what waits does not wait in the subscription";

  ASSERT_TRUE(eventually([&] { return picture.sink.distinct() == kPayouts; }, 2 * kPatience))
      << picture.sink.distinct() << picture.log();
  EXPECT_LE(picture.fullest(kWindow), kLimit);
  const auto counts = picture.tasks.counts();
  print(picture, kWindow, counts.created - (kPayouts - int{kLimit}));
  if (counts.created == kPayouts - int{kLimit}) {  // no firing was late for its window
    const auto windows = picture.windows(kWindow);
    ASSERT_EQ(windows.size(), 1u);
    EXPECT_EQ(unlike_full_windows(windows.begin()->second, kLimit), "");
  }
  EXPECT_EQ(picture.sink.calls().size(), std::size_t{kPayouts}) << "each once";
  for (const SinkCall& call : picture.sink.calls()) {
    ASSERT_EQ(call.body, odd_payout(std::stoi(call.id.substr(4)))) << "byte for byte";
    ASSERT_EQ(call.key, "merchant_8421:payout");
  }
  EXPECT_EQ(counts.answers.size(), 1u) << "nothing but 200";
  for (const char* part : {"worker", "consume"}) {
    EXPECT_EQ(picture.metric(part, "dripgate_redeliveries_total"), 0) << part;
    EXPECT_EQ(picture.metric(part, "dripgate_dead_lettered_total"), 0) << part;
  }
  if (const auto* fake = pubsub->fake()) EXPECT_EQ(fake->counts().expired, 0);

  // Whatever had not been acked would come to whoever reads the subscription next: its lease is long over.
  picture.kill("worker");
  Side other(*pubsub, "other");
  Taker left(other, picture.source);
  picture.publish({"marker"});
  ASSERT_TRUE(eventually([&] { return left.acked().contains("marker"); }));
  EXPECT_EQ(left.got().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(On, Picture500,
                         ::testing::Values(PubsubKind{"OurPubsub", real_time_fake},
                                           PubsubKind{"GooglesEmulator", make_emulator}),
                         [](const auto& kind) { return kind.param.name; });

class PictureOnTheFake : public ::testing::Test {
 protected:
  std::unique_ptr<Server> pubsub_ = make_real_time_fake();
};

TEST_F(PictureOnTheFake, TheTaskIsThatOfTheOriginalDesignFieldByField) {
  Picture picture(*pubsub_, {.limits = "[ { rpm: 100 } ]", .max_delay = "2h"});
  picture.tasks.deliver(false);
  picture.start("worker");
  picture.publish(odd_payouts(2 * kLimit + 1));  // more than two minutes hold: the edge of one may be near
  ASSERT_TRUE(eventually([&] { return picture.tasks.counts().waiting > 0; })) << picture.log();
  const testing::FakeTask task = picture.tasks.tasks().begin()->second;
  // In the order of the design; then members of ours; then the original, every byte.
  const auto body = nlohmann::ordered_json::parse(task.body);
  const std::string id = body.at("originalPayload").at("payoutId");
  std::vector<std::string> members;
  for (const auto& [name, value] : body.items()) members.push_back(name);
  EXPECT_EQ(members, (std::vector<std::string>{"isRatelimited", "rateLimitMeta", "originalPayload"}));
  members.clear();
  for (const auto& [name, value] : body.at("rateLimitMeta").items()) members.push_back(name);
  EXPECT_EQ(members, (std::vector<std::string>{"key", "windowType", "limit", "scheduledFor", "overflowTopic",
                                               "eventId", "generation", "cost", "policyVersion",
                                               "firstReceived", "payloadBytes"}));
  const auto& meta = body.at("rateLimitMeta");
  EXPECT_EQ(body.at("isRatelimited"), true);
  EXPECT_EQ(meta.at("key"), "merchant_8421:payout");
  EXPECT_EQ(meta.at("windowType"), "RPM");
  EXPECT_EQ(meta.at("limit"), kLimit);
  EXPECT_EQ(meta.at("scheduledFor"), format_rfc3339(task.due));
  EXPECT_EQ(task.due.time_since_epoch() % 60s, 0s);
  EXPECT_EQ(std::string(meta.at("scheduledFor")).size(), std::string("2026-08-03T14:02:00Z").size());
  EXPECT_EQ(meta.at("overflowTopic"), picture.overflow);
  EXPECT_EQ(meta.at("eventId"), id);
  EXPECT_EQ(meta.at("generation"), 0);
  EXPECT_EQ(meta.at("cost"), 1);
  const std::string original = odd_payout(std::stoi(id.substr(4)));
  EXPECT_NE(original.find("2500.00"), std::string::npos);
  EXPECT_EQ(meta.at("payloadBytes"), original.size());
  EXPECT_TRUE(task.body.ends_with(",\"originalPayload\":" + original + "}")) << task.body;
  EXPECT_EQ(task.url, picture.dispatcher_url() + "/v1/dispatch/payouts");
  EXPECT_EQ(task.audience, Picture::kAudience);
  EXPECT_EQ(task.service_account, Picture::kAccount);
}

TEST_F(PictureOnTheFake, ThreeWorkersShareAHotKeyAndNoWindowIsExceeded) {
  constexpr std::size_t kEvents = 20'000;
  constexpr std::size_t kHot = kEvents / 10;
  constexpr Duration kHotWindow{4s};
  Picture picture(*pubsub_,
                  {.limits = "[ { limit: " + std::to_string(kHot) + ", window: 4s } ]", .max_delay = "2h"});
  for (const char* part : {"worker", "worker-2", "worker-3", "dispatch", "consume"}) picture.start(part);
  picture.publish(odd_payouts(kEvents, "hot"));
  ASSERT_TRUE(eventually([&] { return picture.sink.distinct() == kEvents; }, 5 * kPatience))
      << picture.sink.distinct() << picture.log();
  EXPECT_EQ(picture.sink.calls().size(), kEvents) << "each once";
  EXPECT_LE(picture.fullest(kHotWindow), kHot);
  for (const char* part : {"worker", "worker-2", "worker-3"}) {
    EXPECT_GT(picture.metric(part, "dripgate_verdicts_total"), 0) << part << " takes part";
    EXPECT_EQ(picture.metric(part, "dripgate_redeliveries_total"), 0) << part;
  }
  const double rebooks = picture.metric("dispatch", "dripgate_rebooks_total");
  print(picture, kHotWindow, static_cast<int>(rebooks));
  if (rebooks == 0) {  // no firing was late for its window
    const auto windows = picture.windows(kHotWindow);
    ASSERT_EQ(windows.size(), 1u);
    EXPECT_EQ(unlike_full_windows(windows.begin()->second, kHot), "");
  }
}

/// The labels and the value of one series, as "{...}" and text; empty: it is not there.
std::pair<std::string, std::string> series(const std::string& metrics, const std::string& name,
                                           const std::string& label) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "{") || line.find(label) == std::string::npos) continue;
    const std::size_t end = line.rfind(' ');
    return {line.substr(name.size(), end - name.size()), line.substr(end + 1)};
  }
  return {};
}

TEST_F(PictureOnTheFake, BeyondTheHorizonIsADeadLetterWithReasonAMetricAndAnAlert) {
  constexpr int kBooked = 25;  // now, and in the four half hours that begin within two hours
  constexpr int kSent = 40;
  Picture picture(*pubsub_, {.limits = "[ { limit: 5, window: 30m } ]", .max_delay = "2h"});
  picture.start("worker");
  ASSERT_TRUE(picture.side.make(picture.dead_letters, picture.dead_letters + "-reader"));
  Taker letters(picture.side, picture.dead_letters + "-reader");
  const std::string before = picture.metrics("worker");
  ASSERT_TRUE(eventually([&] { return picture.side.clock.now().time_since_epoch() % 30min < 29min + 40s; }))
      << "a burst over the edge of a window books into six";
  picture.publish(odd_payouts(kSent));
  ASSERT_TRUE(eventually([&] { return letters.acked().size() == kSent - kBooked; }))
      << letters.acked().size() << picture.log();
  EXPECT_EQ(picture.tasks.counts().created, kBooked - 5);
  for (const broker::Delivery& delivery : letters.got()) {
    const std::string* reason = broker::find(delivery.message.attributes, "dripgate-reason");
    ASSERT_NE(reason, nullptr);
    EXPECT_EQ(*reason, "beyond_horizon");
    EXPECT_TRUE(delivery.message.body.contains("2500.00"));
  }
  EXPECT_EQ(picture.metric("worker", "dripgate_dead_lettered_total", "beyond_horizon"), kSent - kBooked);

  // What Prometheus would have seen, judged by the rules as they are deployed.
  const std::string name = "dripgate_dead_lettered_total";
  const auto [labels, first] = series(before, name, "beyond_horizon");
  const auto [labels_after, last] = series(picture.metrics("worker"), name, "beyond_horizon");
  ASSERT_EQ(labels, labels_after) << "there from the start, or the first increase would not be seen";
  std::string quoted = name + labels;
  write_file(picture.folder.path("horizon.yaml"),
             "rule_files: [\"" + std::string(DRIPGATE_SOURCE_DIR) +
                 "/deploy/prometheus/rules.yaml\"]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n"
                 "    input_series: [ { series: '" +
                 quoted + "', values: \"" + first + "x5 " + last +
                 "x5\" } ]\n    alert_rule_test:\n"
                 "      - { eval_time: 4m, alertname: DripgateHorizonBreached, exp_alerts: [] }\n"
                 "      - eval_time: 8m\n        alertname: DripgateHorizonBreached\n        exp_alerts:\n"
                 "          - exp_labels: { severity: page, stream: payouts }\n            exp_annotations:\n"
                 "              summary: \"payouts could not book events within maxDelay: they are dead "
                 "letters\"\n              runbook: docs/runbook.md#the-dead-letter-queue-fills\n");
  if (!std::filesystem::exists("/usr/bin/promtool")) {
    note_skip("promtool", "not installed: ./dev test installs it");
    return;
  }
  Process promtool({"test", "rules", picture.folder.path("horizon.yaml")}, picture.folder.path("promtool"),
                   "/usr/bin/promtool");
  EXPECT_EQ(promtool.exit_code(), 0) << promtool.out() << promtool.err();
  note_run("promtool");
}

/// Resident memory of a process, in KiB.
std::int64_t resident_kib(pid_t pid) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::stoll(status.substr(at + 6));
}

TEST_F(PictureOnTheFake, WhileCloudTasksIsAwayForTwoMinutesNothingIsAckedMemoryIsFlatAndAllGoesAfter) {
  if (std::getenv("DRIPGATE_LONG") == nullptr)
    GTEST_SKIP() << "minutes of real time: ./dev soak gcp; on virtual time: unit_drip, S15b";
  constexpr std::size_t kBurst = 20'000;
  constexpr std::size_t kMost = 1000;
  constexpr std::int64_t kGrowthKib = 20 * 1024;
  Picture picture(*pubsub_, {.limits = "[ { limit: 1000, window: 5s } ]", .max_delay = "2h"});
  picture.start_all();
  picture.tasks.go_down(true);
  picture.publish(odd_payouts(kBurst));
  ASSERT_TRUE(eventually([&] { return picture.sink.distinct() > 0; })) << picture.log();
  const pid_t worker = picture.part("worker").pid();
  const std::int64_t before = resident_kib(worker);
  std::int64_t most = before;
  const WallTime back = picture.side.clock.now() + 2min;
  ASSERT_TRUE(eventually(
      [&] {
        most = std::max(most, resident_kib(worker));
        return picture.side.clock.now() >= back;
      },
      3 * kPatience));
  const testing::PubsubCounts counts = pubsub_->fake()->counts();
  const std::size_t delivered = picture.sink.distinct();
  EXPECT_LE(counts.acked, static_cast<std::int64_t>(delivered)) << "acked is what was delivered";
  EXPECT_LT(delivered, kBurst);
  EXPECT_LE(counts.most_outstanding, static_cast<std::int64_t>(kMost));
  EXPECT_EQ(counts.expired, 0) << "leases are kept";
  EXPECT_LT(most - before, kGrowthKib);
  picture.tasks.go_down(false);
  ASSERT_TRUE(eventually([&] { return picture.sink.distinct() == kBurst; }, 5 * kPatience))
      << picture.sink.distinct() << picture.log();
  EXPECT_LE(picture.fullest(kWindow), kMost);
  EXPECT_EQ(picture.metric("worker", "dripgate_dead_lettered_total"), 0);
  EXPECT_LT(resident_kib(worker) - before, kGrowthKib);
  std::printf(
      "away for 120 s: %zu of %zu delivered in the limit meanwhile, acked %lld, leases lapsed %lld; resident "
      "%lld KiB, at most %lld, at the end %lld; delivered %zu, again %zu, fullest window %zu of %zu\n",
      delivered, kBurst, static_cast<long long>(counts.acked), static_cast<long long>(counts.expired),
      static_cast<long long>(before), static_cast<long long>(most),
      static_cast<long long>(resident_kib(worker)), picture.sink.distinct(),
      picture.sink.calls().size() - picture.sink.distinct(), picture.fullest(kWindow), kMost);
}

TEST_F(PictureOnTheFake, WithoutCredentialsTheWorkerSaysSoInOneSentence) {
  testing::ScratchFolder folder;
  write_file(
      folder.path("dripgate.yaml"),
      "gcp: { project: acme-payments }\nstore: { redis: { url: \"redis://127.0.0.1:1\" } }\n"
      "streams:\n  - id: payouts\n    source: { pubsub: payout-events }\n    limits: [ { rpm: 100 } ]\n"
      "    key: k\n    deliver: { http: \"http://127.0.0.1:9/\" }\n");
  Process worker({"-u", "GOOGLE_APPLICATION_CREDENTIALS", "-u", "PUBSUB_EMULATOR_HOST",
                  "HOME=" + folder.path("nobody"), binary(), "worker", "-c", folder.path("dripgate.yaml")},
                 folder.path("worker"), "/usr/bin/env");
  const auto code = worker.exit_code();
  ASSERT_TRUE(code.has_value());
  EXPECT_NE(*code, 0);
  const std::string said = worker.err();
  EXPECT_NE(said.find("there are no Google credentials on this machine; accepted: "), std::string::npos)
      << said;
  EXPECT_EQ(std::ranges::count(said.substr(said.find("there are no Google")), '\n'), 1) << said;
}

}  // namespace
}  // namespace dripgate::integration
