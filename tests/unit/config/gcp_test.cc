// gcp and sources on Pub/Sub.
#include "config/snapshot.h"
#include "unit/config/texts.h"

namespace dripgate::config {
namespace {

using ::testing::HasSubstr;

std::string text(const std::string& source, const std::string& gcp = "{ project: acme }",
                 const std::string& more = "") {
  return "store: { redis: { url: \"redis://127.0.0.1:6379/0\" } }\n" +
         (gcp.empty() ? "" : "gcp: " + gcp + "\n") + "streams:\n  - id: payouts\n    source: " + source +
         "\n    key: \"m_{m}\"\n    limits: [ { rpm: 100 } ]\n    deliver: { topic: payouts-out }\n" + more;
}

Loaded loaded(const std::string& config, const Environment& environment = {}) {
  return parse(config, "f.yaml", environment);
}

std::string problem(const std::string& config) {
  const Loaded read = loaded(config);
  return read.problems.empty() ? std::string() : to_string(read.problems[0]);
}

TEST(Gcp, AStreamOnPubsubNamesItsSubscription) {
  const Loaded read = loaded(text("{ pubsub: payouts-dripgate }"));
  ASSERT_TRUE(read.config) << to_string(read.problems[0]);
  EXPECT_EQ(read.config->gcp, (Gcp{"acme", {"pubsub.googleapis.com:443", false}}));
  const StreamSettings& stream = read.config->streams[0];
  EXPECT_EQ(stream.source_topic, "payouts-dripgate");
  EXPECT_EQ(stream.pubsub, (PubsubSource{"payouts-overflow", 1}));
}

TEST(Gcp, TheOverflowSubscriptionAndStreamsCanBeNamed) {
  const Loaded read = loaded(text("{ pubsub: payouts, overflowSubscription: other, streams: 4 }"));
  ASSERT_TRUE(read.config) << to_string(read.problems[0]);
  EXPECT_EQ(read.config->streams[0].pubsub, (PubsubSource{"other", 4}));
}

TEST(Gcp, AnEndpointMayBeAnotherAndTheEmulatorOfTheEnvironmentGoesBeforeIt) {
  const std::string file =
      text("{ pubsub: payouts }", "{ project: acme, pubsub: { endpoint: \"eu-pubsub.example\" } }");
  EXPECT_EQ(loaded(file).config->gcp->pubsub, (GcpEndpoint{"eu-pubsub.example:443", false}));
  const Environment emulator = [](const std::string& name) {
    return name == "PUBSUB_EMULATOR_HOST" ? std::optional<std::string>("http://127.0.0.1:8085/")
                                          : std::nullopt;
  };
  EXPECT_EQ(loaded(file, emulator).config->gcp->pubsub, (GcpEndpoint{"127.0.0.1:8085", true}));
  const std::string plain =
      text("{ pubsub: payouts }", "{ project: acme, pubsub: { endpoint: \"[::1]:85\", plaintext: true } }");
  EXPECT_EQ(loaded(plain).config->gcp->pubsub, (GcpEndpoint{"[::1]:85", true}));
}

TEST(Gcp, WhatIsMissingOrWrongIsNamedAtItsPlace) {
  EXPECT_THAT(problem(text("{ pubsub: payouts }", "")),
              HasSubstr("accepted beside it: gcp: { project: ID }"));
  EXPECT_THAT(problem(text("{ pubsub: payouts }", "{ }")), HasSubstr("gcp has no project; such as project:"));
  EXPECT_THAT(problem(text("{ pubsub: payouts }", "{ project: ACME }")),
              HasSubstr("f.yaml:2:17: project is 'ACME'; accepted: the id of a project"));
  EXPECT_THAT(problem(text("{ pubsub: \"9s\" }")), HasSubstr("subscription '9s' is no name of Pub/Sub"));
  EXPECT_THAT(problem(text("{ pubsub: payouts, redis: x }")),
              HasSubstr("has both redis and pubsub; keep one"));
  EXPECT_THAT(problem(text("{ redis: payouts, streams: 2 }")),
              HasSubstr("streams belongs to source: { pubsub: SUBSCRIPTION }"));
  EXPECT_THAT(problem(text("{ pubsub: payouts, streams: 17 }")),
              HasSubstr("accepted: a whole number from 1 to 16"));
  std::string memory = text("{ pubsub: payouts }");
  memory.replace(0, memory.find('\n'), "store: { memory: {} }");
  EXPECT_THAT(problem(memory),
              HasSubstr("need a store that processes share; accepted: store: { redis: ... }"));
}

TEST(Gcp, ASubscriptionMayBearTheNameOfATopic) {
  EXPECT_EQ(problem(text("{ pubsub: payouts-out }")), "");
}

TEST(Gcp, AnotherProjectNeedsARestart) {
  const Loaded before = loaded(text("{ pubsub: payouts }"));
  const Loaded after = loaded(text("{ pubsub: payouts, streams: 2 }", "{ project: other }"));
  ASSERT_TRUE(before.config && after.config);
  const auto problems = restart_problems(*before.config, after);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(to_string(problems[0]), HasSubstr("f.yaml:2:1: another gcp needs a restart"));
  EXPECT_THAT(to_string(problems[1]), HasSubstr("another source of stream 'payouts'"));
}

}  // namespace
}  // namespace dripgate::config
