// What right policies mean: the documents of the design, every way to write a limit, durations and numbers
// (bug report F5).
#include <filesystem>
#include <string>

#include "base/sha256.h"
#include "unit/config/texts.h"

namespace dripgate::config {
namespace {

using core::Algorithm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OriginalDocuments, LoadUnchangedAndMeanWhatTheySay) {
  const auto loaded = load(DRIPGATE_SOURCE_DIR "/examples/policies.yaml");
  ASSERT_TRUE(loaded.config);
  ASSERT_EQ(loaded.config->policies.size(), 2u);
  const core::Policy& free = *loaded.config->policies[0];
  EXPECT_EQ(free.id, "api-free");
  EXPECT_EQ(free.name, "api-free");
  EXPECT_EQ(free.match.at(0).name, "plan");
  EXPECT_THAT(free.match.at(0).patterns, ElementsAre("free"));
  EXPECT_EQ(free.key.at(0).name, "apiKey");
  EXPECT_TRUE(free.key.at(0).secret);
  EXPECT_EQ(free.limits.at(0).algorithm, Algorithm::token_bucket);
  EXPECT_EQ(free.limits.at(0).capacity, 20);
  EXPECT_EQ(free.limits.at(0).limit, 100);
  EXPECT_EQ(free.limits.at(0).window, 60s);
  EXPECT_EQ(free.on_store_failure, core::FailureMode::local);
  EXPECT_EQ(free.on_missing_key, core::MissingKey::default_key);
  const core::Policy& login = *loaded.config->policies[1];
  EXPECT_EQ(login.limits.at(0).algorithm, Algorithm::sliding_log);
  EXPECT_EQ(login.limits.at(0).limit, 10);
  EXPECT_EQ(login.limits.at(0).window, 60s);
  EXPECT_EQ(login.on_store_failure, core::FailureMode::closed);
  EXPECT_EQ(login.key.size(), 2u);
  EXPECT_FALSE(login.key.at(0).secret);
  // They differ in scope and can meet in one request: named, not refused.
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_TRUE(loaded.problems[0].warning);
  EXPECT_THAT(loaded.problems[0].message, HasSubstr("policy 'login' has scope 'ip'"));
}

TEST(OriginalDocuments, TheStreamOfTheReadmeLoadsWithoutAProblem) {
  const std::string file = DRIPGATE_SOURCE_DIR "/examples/dripgate.yaml";
  const auto loaded = load(file);
  ASSERT_TRUE(loaded.config);
  EXPECT_THAT(texts(loaded), IsEmpty());
  const auto folder = std::filesystem::path(file).parent_path();
  EXPECT_EQ(std::get<SqliteStore>(loaded.config->store).path, (folder / "./dripgate.db").string());
  const StreamSettings& payouts = loaded.config->streams.at(0);
  EXPECT_EQ(payouts.stream->id, "payouts");
  EXPECT_EQ(payouts.source_topic, "payouts");
  EXPECT_EQ(payouts.stream->key.text(), "merchant_{merchant_id}:payout");
  EXPECT_EQ(payouts.stream->event_id->text(), "{payoutId}");
  EXPECT_EQ(payouts.stream->booking->limits.at(0).limit, 100);
  EXPECT_EQ(payouts.stream->booking->limits.at(0).window, 1min);
  EXPECT_EQ(payouts.stream->booking->spread, core::Spread::even);
  EXPECT_EQ(payouts.stream->booking->max_delay, 2h);
  EXPECT_EQ(std::get<HttpDelivery>(payouts.deliver).url, "http://127.0.0.1:9000/payouts");
  EXPECT_EQ(std::get<HttpDelivery>(payouts.deliver).timeout, 10s);
  EXPECT_EQ(payouts.stream->max_attempts, 8);
  EXPECT_EQ(payouts.stream->overflow_topic, "payout-events-overflow");
  EXPECT_EQ(payouts.stream->dead_letter_topic, "payout-events-dlq");
  EXPECT_EQ(payouts.stream->on_missing_key, core::StreamMissingKey::default_key);
  EXPECT_EQ(loaded.config->server.host, "127.0.0.1");
  EXPECT_EQ(loaded.config->server.port, 8080);
}

TEST(Delivery, OverHttpsTakesACaOfItsOwnFromTheFilesFolder) {
  const auto ca_of = [](const std::string& more) {
    const Config config = good(
        "store: { memory: {} }\nstreams:\n  - id: s\n    source: { embedded: in }\n    key: \"m_{m}\"\n"
        "    limits: [ { rps: 1 } ]\n    deliver: { http: \"https://h/x\"" +
        more + " }\n");
    return std::get<HttpDelivery>(config.streams.at(0).deliver).ca_file;
  };
  EXPECT_EQ(ca_of(""), std::nullopt);
  EXPECT_EQ(ca_of(", ca: /etc/ca.pem"), "/etc/ca.pem");
}

TEST(Documents, MayHoldPoliciesAndStreamsTogether) {
  const Config config =
      good(policy("    limit: 1\n    window: 1s\n") + stream("    limits: [ { rps: 1 } ]\n"));
  EXPECT_EQ(config.policies.size(), 1u);
  EXPECT_EQ(config.streams.size(), 1u);
}

TEST(Documents, AreVersionedByTheirBytes) {
  const std::string text = policy("    limit: 1\n    window: 1s\n");
  EXPECT_EQ(good(text).version, sha256_hex(text).substr(0, 12));
  EXPECT_NE(good(text + "# the same, but other bytes\n").version, good(text).version);
}

TEST(Durations, OfOneLengthAreOneWindowHoweverWritten) {
  for (const char* written : {"60s", "1m", "60000ms", "\"60s\"", "60.0s"}) {
    const auto limit = policy_of("    limit: 5\n    window: " + std::string(written) + "\n").limits.at(0);
    EXPECT_EQ(limit.window, 60s) << written;
    EXPECT_EQ(window_type(limit), "RPM");
  }
  EXPECT_EQ(policy_of("    limit: 5\n    window: 1.5s\n").limits.at(0).window, 1500ms);
  EXPECT_EQ(policy_of("    limit: 5\n    window: 0.001ms\n").limits.at(0).window, 1us);
  EXPECT_EQ(policy_of("    limit: 5\n    window: 30d\n").limits.at(0).window, 30 * 24h);
}

TEST(Durations, ThatParsersDisagreeAboutAreRefusedAtTheirPlace) {
  for (const char* written : {"60",
                              "0s",
                              "0.0s",
                              "-1s",
                              "1M",
                              "1h30m",
                              "1 m",
                              "1min",
                              "s",
                              "1e3s",
                              ".5s",
                              "5.s",
                              "01s",
                              "+1s",
                              "1_0s",
                              "0x10s",
                              "1:30",
                              "367d",
                              "9223372036854775807d",
                              "1s ,"}) {
    const auto loaded = parse(policy("    limit: 5\n    window: " + std::string(written) + "\n"), "f.yaml");
    EXPECT_FALSE(loaded.config) << written;
    ASSERT_EQ(loaded.problems.size(), 1u) << written;
    EXPECT_THAT(to_string(loaded.problems[0]), HasSubstr("f.yaml:6:13: window is '" + std::string(written)));
  }
}

TEST(Numbers, ArePlainDecimalIntegersOnly) {
  EXPECT_EQ(policy_of("    limit: 10\n    window: 1s\n").limits.at(0).limit, 10);
  EXPECT_EQ(policy_of("    limit: 0\n    window: 1s\n").limits.at(0).limit, 0);
  for (const char* written :
       {"10.5", "10.0", "\"10\"", "'10'", "1e3", "0x10", "010", "1_000", "+10", "1,000", "ten",
        "9999999999999999999", "281474976710656", "-1", ".inf", "[10]", "{}", "~"}) {
    const auto loaded = parse(policy("    limit: " + std::string(written) + "\n    window: 1s\n"), "f.yaml");
    EXPECT_FALSE(loaded.config) << written;
    EXPECT_EQ(loaded.problems.size(), 1u) << written << ::testing::PrintToString(texts(loaded));
  }
}

TEST(Limits, CanBeListedSeveralAtOnce) {
  const auto limits =
      policy_of(
          "    limits: [ { rps: 5 }, { rpm: 100 }, { rph: 500 }, { rpd: 1000, timezone: Asia/Kolkata },"
          " { limit: 7, window: 90s }, { capacity: 40, refillPerSecond: 2 } ]\n")
          .limits;
  ASSERT_EQ(limits.size(), 6u);
  EXPECT_EQ(window_type(limits[0]), "RPS");
  EXPECT_EQ(window_type(limits[1]), "RPM");
  EXPECT_EQ(window_type(limits[2]), "RPH");
  EXPECT_EQ(window_type(limits[3]), "RPD");
  EXPECT_EQ(limits[3].zone->name, "Asia/Kolkata");
  EXPECT_EQ(window_type(limits[4]), "7/90s");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(limits[i].algorithm, Algorithm::fixed_window);
    EXPECT_EQ(limits[i].capacity, limits[i].limit);
  }
  EXPECT_EQ(limits[5].algorithm, Algorithm::token_bucket);
  EXPECT_EQ(limits[5].capacity, 40);
  EXPECT_EQ(limits[5].limit, 2);
  EXPECT_EQ(limits[5].window, 1s);
}

TEST(Limits, TakeTheAlgorithmAroundTheList) {
  const auto logs =
      policy_of("    algorithm: sliding-log\n    limits: [ { rps: 5 }, { rpm: 100 } ]\n").limits;
  EXPECT_EQ(logs.at(0).algorithm, Algorithm::sliding_log);
  EXPECT_EQ(logs.at(1).algorithm, Algorithm::sliding_log);
  const auto buckets = policy_of(
                           "    algorithm: token-bucket\n    capacity: 9\n    limits: [ { rps: 5 }, { rpm: "
                           "100, capacity: 3 } ]\n")
                           .limits;
  EXPECT_EQ(buckets.at(0).capacity, 9);
  EXPECT_EQ(buckets.at(1).capacity, 3);
  const auto mixed = policy_of("    limits: [ { rps: 5 }, { rps: 9, algorithm: sliding-log } ]\n").limits;
  EXPECT_EQ(mixed.at(1).algorithm, Algorithm::sliding_log);
}

TEST(Limits, RefillInFourPeriods) {
  const auto window = [](const std::string& key) {
    return policy_of("    capacity: 5\n    " + key + ": 3\n").limits.at(0).window;
  };
  EXPECT_EQ(window("refillPerSecond"), 1s);
  EXPECT_EQ(window("refillPerMinute"), 1min);
  EXPECT_EQ(window("refillPerHour"), 1h);
  EXPECT_EQ(window("refillPerDay"), 24h);
}

TEST(Limits, StayBelow2To53WhereProductsAreTaken) {
  const auto loads = [](const std::string& body) { return parse(policy(body), "f.yaml").config.has_value(); };
  EXPECT_TRUE(loads("    capacity: 104249\n    refillPerDay: 1\n"));
  EXPECT_FALSE(loads("    capacity: 104250\n    refillPerDay: 1\n"));
  EXPECT_FALSE(loads("    algorithm: sliding-log\n    limit: 104250\n    window: 1d\n"));
  // A fixed window multiplies nothing.
  EXPECT_TRUE(loads("    limit: 5000000000\n    window: 1d\n"));
}

TEST(Policies, TakeEveryKey) {
  const auto config = good(R"(scope: tenant
policies:
  - id: p
    name: Per tenant
    match: { tenant: "*", plan: [free, trial], route: "/api/**" }
    key: [tenant, { name: session, secret: true }]
    limits: [ { rpm: 10 } ]
    onStoreFailure: local
    localShare: 4
    onMissingKey: skip
    shadow: true
    overrides:
      - { value: acme, limits: [ { rpm: 99 } ] }
      - { value: "big-*", capacity: 5, refillPerSecond: 1 }
      - { value: internal, unlimited: true }
    idempotency: { ttl: 10m, maxReplays: 3 }
  - { id: q, scope: ip, key: [ip], unlimited: true, onStoreFailure: open, match: { internal: "yes" } }
)");
  ASSERT_EQ(config.policies.size(), 2u);
  const core::Policy& p = *config.policies[0];
  EXPECT_EQ(p.name, "Per tenant");
  EXPECT_EQ(p.scope, "tenant");
  EXPECT_EQ(p.match.size(), 3u);
  EXPECT_THAT(p.match[1].patterns, ElementsAre("free", "trial"));
  EXPECT_FALSE(p.key[0].secret);
  EXPECT_TRUE(p.key[1].secret);
  EXPECT_EQ(p.on_store_failure, core::FailureMode::local);
  EXPECT_EQ(p.local_share, 4);
  EXPECT_EQ(p.on_missing_key, core::MissingKey::skip);
  EXPECT_TRUE(p.shadow);
  ASSERT_EQ(p.overrides.size(), 3u);
  EXPECT_EQ(p.overrides[0].limits.at(0).limit, 99);
  EXPECT_EQ(p.overrides[1].limits.at(0).algorithm, Algorithm::token_bucket);
  EXPECT_TRUE(p.overrides[2].unlimited);
  EXPECT_EQ(p.idempotency->ttl, 10min);
  EXPECT_EQ(p.idempotency->max_replays, 3);
  EXPECT_EQ(config.policies[1]->scope, "ip");
  EXPECT_EQ(config.policies[1]->local_share, 1);
  EXPECT_TRUE(config.policies[1]->unlimited);
}

TEST(Policies, WithTheSameMatchAndOtherWindowsBothCount) {
  const Config config = good(
      "policies:\n  - { id: a, match: { plan: x }, limit: 10, window: 1s, onStoreFailure: open }\n"
      "  - { id: b, match: { plan: x }, limit: 1000, window: 1m, onStoreFailure: open }\n");
  EXPECT_EQ(config.policies.size(), 2u);
}

TEST(Policies, OfOtherScopesAreNamedOnlyWhereOneRequestCanMeetBoth) {
  const auto two = [](const std::string& first, const std::string& second) {
    return parse("policies:\n  - { id: a, key: [ip], limit: 1, window: 1s, onStoreFailure: open, match: " +
                     first +
                     " }\n  - { id: b, key: [username], limit: 1, window: 1s, onStoreFailure: open, match: " +
                     second + " }\n",
                 "f.yaml")
        .problems.size();
  };
  EXPECT_EQ(two("{ route: \"POST /login\" }", "{ route: \"POST /login\" }"), 1u);
  EXPECT_EQ(two("{ route: \"POST /login\" }", "{ route: \"/**\" }"), 1u);
  EXPECT_EQ(two("{ route: \"POST /login\" }", "{ route: \"GET /login\" }"), 0u);
  EXPECT_EQ(two("{ route: \"/users/{id}\" }", "{ route: \"/users/me\" }"), 1u);
  EXPECT_EQ(two("{ route: \"/users/{id}\" }", "{ route: \"/users/me/x\" }"), 0u);
  EXPECT_EQ(two("{ plan: free }", "{ plan: [pro, \"f*\"] }"), 1u);
  EXPECT_EQ(two("{ plan: free }", "{ plan: pro }"), 0u);
  EXPECT_EQ(two("{ plan: free }", "{ country: IN }"), 1u);
}

}  // namespace
}  // namespace dripgate::config
