// `timer: { cloudTasks: ... }` of a stream, and what of `gcp` belongs to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace dripgate::config {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTimer =
    "{ location: asia-south1, queues: [payouts-1, payouts-2], target: \"https://dispatch.example.com/\", "
    "serviceAccount: tasks@acme.iam.gserviceaccount.com }";

std::string stream(const std::string& id, const std::string& timer, const std::string& more = "") {
  return "  - id: " + id + "\n    source: { redis: " + id +
         " }\n    key: \"{m}\"\n    limit: 10\n    window: 60s\n" + "    timer: { cloudTasks: " + timer +
         " }\n    deliver: { topic: " + id + "-out }\n" + more;
}

std::string file(const std::string& timer, const std::string& more = "",
                 const std::string& gcp = "gcp: { project: acme }\n") {
  return "store: { redis: { url: \"redis://127.0.0.1:6379\" } }\n" + gcp + "streams:\n" +
         stream("payouts", timer, more);
}

std::string problems(const std::string& text) {
  std::string all;
  for (const Problem& problem : parse(text, "t.yaml").problems) all += to_string(problem) + "\n";
  return all;
}

TEST(CloudTasksTimerConfig, IsReadAndFitsHorizonAndRetentionToTheService) {
  const Loaded loaded = parse(file(kTimer, "    maxDelay: 30d\n"), "t.yaml");
  ASSERT_TRUE(loaded.config) << problems(file(kTimer));
  const StreamSettings& settings = loaded.config->streams.at(0);
  ASSERT_TRUE(settings.cloud_tasks);
  EXPECT_EQ(settings.cloud_tasks->queues, (std::vector<std::string>{"payouts-1", "payouts-2"}));
  EXPECT_EQ(settings.cloud_tasks->target, "https://dispatch.example.com");
  EXPECT_EQ(settings.cloud_tasks->audience, "https://dispatch.example.com/") << "as written";
  EXPECT_EQ(settings.cloud_tasks->task_bytes_max, kTaskBytesDefault);
  EXPECT_EQ(settings.stream->booking->max_delay, kTaskAheadMax);
  EXPECT_EQ(settings.stream->booking->id_retention, std::chrono::hours{25});
  EXPECT_THAT(problems(file(kTimer, "    maxDelay: 30d\n")), HasSubstr("10 minutes less than that"));
  EXPECT_EQ(loaded.config->gcp->cloud_tasks.target, "cloudtasks.googleapis.com:443");
  EXPECT_EQ(loaded.config->gcp->token_issuer, "https://accounts.google.com");
}

TEST(CloudTasksTimerConfig, AnEmulatorBringsItsEndpointAndItsIssuer) {
  const Loaded loaded = parse(
      file(kTimer, "",
           "gcp: { project: acme, cloudTasks: { endpoint: \"127.0.0.1:8123\", plaintext: true }, tokens: { "
           "issuer: \"http://127.0.0.1:8980\", keys: \"http://127.0.0.1:8980/jwks\" } }\n"),
      "t.yaml");
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(loaded.config->gcp->cloud_tasks, (GcpEndpoint{"127.0.0.1:8123", true}));
  EXPECT_EQ(loaded.config->gcp->token_keys, "http://127.0.0.1:8980/jwks");
}

TEST(CloudTasksTimerConfig, WhatIsWrongIsToldWithWhatIsAccepted) {
  EXPECT_THAT(problems(file("{ }")), HasSubstr("has no location; such as location: asia-south1"));
  const auto with = [](std::string text, std::string_view from, const std::string& to) {
    return file(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_THAT(problems(with(kTimer, "payouts-1", "\"a b\"")), HasSubstr("queue is 'a b'; accepted: letters"));
  EXPECT_THAT(problems(with(kTimer, "payouts-1", "payouts-2")), HasSubstr("queue 'payouts-2'"));
  EXPECT_THAT(problems(with(kTimer, "tasks@acme", "acme")),
              HasSubstr("the e-mail address of a service account"));
  EXPECT_THAT(problems(with(kTimer, "https://dispatch", "dispatch")), HasSubstr("target"));
  EXPECT_THAT(problems(with(kTimer, "location", "locatoin")), HasSubstr("did you mean 'location'"));
  EXPECT_THAT(problems(file(kTimer, "    idRetention: 2h\n")), HasSubstr("accepted: at least 25h"));
  EXPECT_THAT(problems(file(kTimer, "", "")), HasSubstr("accepted beside it: gcp: { project: ID }"));
  std::string memory = file(kTimer);
  memory.replace(0, memory.find('\n'), "store: { memory: {} }");
  EXPECT_THAT(problems(memory), HasSubstr("is on Cloud Tasks, its bookings need a store"));
  EXPECT_THAT(problems(file(kTimer) + stream("mails", kTimer)),
              HasSubstr("is also that of stream 'payouts'"));
}

TEST(CloudTasksTimerConfig, AClaimCheckIsBoundedAndLiesWhereTheBookingsAre) {
  const auto with = [](const std::string& check) {
    std::string timer = kTimer;
    timer.insert(timer.rfind('}'), ", claimCheck: " + check);
    return file(timer);
  };
  const auto read = [&](const std::string& check) {
    return parse(with(check), "t.yaml").config.value().streams.at(0).cloud_tasks->claim_check;
  };
  EXPECT_FALSE(parse(file(kTimer), "t.yaml").config->streams.at(0).cloud_tasks->claim_check);
  EXPECT_EQ(read("{ redis: {} }"), ClaimCheck{}) << problems(with("{ redis: {} }"));
  EXPECT_EQ(read("{ redis: { maxBytes: 2GiB, maxEventBytes: 2MiB } }"),
            (ClaimCheck{.bytes_max = std::size_t{2} << 30, .event_bytes_max = 2u << 20}));
  EXPECT_THAT(problems(with("{ sqlite: claims.db }")),
              HasSubstr("dispatchers are other processes than workers; accepted: claimCheck: { redis: {} }"));
  EXPECT_THAT(problems(with("{ }")), HasSubstr("accepted: claimCheck: { redis: {} }"));
  EXPECT_THAT(problems(with("{ disk: {} }")), HasSubstr("accepted: redis, sqlite"));
  EXPECT_THAT(problems(with("{ redis: { maxByte: 2GiB } }")), HasSubstr("did you mean 'maxBytes'"));
  EXPECT_THAT(problems(with("{ redis: { maxEventBytes: 11000000 } }")), HasSubstr("10000000"));
  EXPECT_THAT(problems(with("{ redis: { maxBytes: 1MiB } }")), HasSubstr("at most its maxBytes, 1048576"));
}

}  // namespace
}  // namespace dripgate::config
