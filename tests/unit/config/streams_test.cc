// What right streams and servers mean, what is warned about, and which bytes are refused before they mean
// anything.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "config/lint.h"
#include "unit/config/texts.h"

namespace dripgate::config {
namespace {

using core::Algorithm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Streams, TakeEveryKey) {
  const StreamSettings s = stream_of(R"(    eventId: "{/meta/id}"
    cost: "{units}"
    retryCost: 0
    limits: [ { rps: 5 }, { rpm: 100 }, { rpd: 1000 } ]
    spread: start
    maxDelay: 30d
    idRetention: 2h
    deadLetterRetention: 3d
    onMissingKey: deadLetter
    maxOutstandingMessages: 10
    maxOutstandingBytes: 8MiB
)");
  EXPECT_EQ(s.stream->event_id->text(), "{/meta/id}");
  EXPECT_EQ(s.stream->cost->text(), "{units}");
  EXPECT_FALSE(s.stream->retries_cost);
  EXPECT_EQ(s.stream->booking->spread, core::Spread::start);
  EXPECT_EQ(s.stream->booking->max_delay, 30 * 24h);
  EXPECT_EQ(s.stream->booking->id_retention, 2h);
  EXPECT_EQ(s.stream->dead_letter_retention, 72h);
  EXPECT_EQ(s.stream->on_missing_key, core::StreamMissingKey::dead_letter);
  EXPECT_EQ(s.max_outstanding_messages, 10u);
  EXPECT_EQ(s.max_outstanding_bytes, 8u << 20);
  EXPECT_EQ(s.stream->overflow_topic, "s-overflow");
  EXPECT_EQ(s.stream->dead_letter_topic, "s-dlq");
}

TEST(Streams, BookInEveryAlgorithm) {
  const auto limit = [](const std::string& body) { return stream_of(body).stream->booking->limits.at(0); };
  EXPECT_EQ(limit("    limit: 5\n    window: 1s\n").algorithm, Algorithm::fixed_window);
  EXPECT_EQ(limit("    algorithm: sliding-log\n    limits: [ { rpm: 5 } ]\n").algorithm,
            Algorithm::sliding_log);
  const auto bucket = limit("    algorithm: token-bucket\n    capacity: 20\n    refillPerMinute: 100\n");
  EXPECT_EQ(bucket.algorithm, Algorithm::token_bucket);
  EXPECT_EQ(bucket.capacity, 20);
}

TEST(Streams, AreWarnedAboutWhatWorksBadly) {
  EXPECT_EQ(
      warning_of(stream("    limits: [ { rpm: 5 }, { limit: 7, window: 90s } ]\n")),
      "f.yaml:7:5: warning: windows 1m and 90s of stream 's' do not nest: bookings of a long backlog take "
      "longer and move more; let each window divide the next");
  EXPECT_THAT(warning_of(stream("    limits: [ { rpd: 5 } ]\n    maxDelay: 2h\n")),
              HasSubstr("f.yaml:8:5: warning: maxDelay 2h of stream 's' is shorter than its window of 1d"));
  EXPECT_THAT(warning_of(stream("    limits: [ { rpm: 5 } ]\n    cost: 6\n")),
              HasSubstr("f.yaml:7:5: warning: cost 6 is above the limit of 5: every event of stream 's'"));
  EXPECT_THAT(
      warning_of("streams:\n  - { id: s, source: { embedded: in, ordering: true }, key: \"{k}\", deliver: { "
                 "topic: out }, limits: [ { rpm: 1 } ] }\nstore: { memory: {} }\n"),
      HasSubstr("keeps order, the drip does not"));
  EXPECT_THAT(
      warning_of("store: { memory: {} }\nstreams:\n  - { id: s, source: { embedded: in }, key: merchant, "
                 "deliver: { topic: out }, limits: [ { rpm: 1 } ] }\n"),
      HasSubstr("f.yaml:3:45: warning: key names nothing of the event"));
  EXPECT_THAT(
      warning_of("streams:\n  - { id: s, source: { embedded: in }, key: \"{k}\", deliver: { topic: out }, "
                 "limits: [ { rpm: 1 } ] }\n"),
      HasSubstr("f.yaml:1:1: warning: no store is named"));
}

TEST(Streams, MayFeedEachOtherInAChain) {
  const std::string chain =
      "store: { memory: {} }\nstreams:\n"
      "  - { id: a, source: { embedded: one }, key: \"{k}\", deliver: { topic: two }, limits: [ { rpm: 1 } ] "
      "}\n"
      "  - { id: b, source: { embedded: two }, key: \"{k}\", deliver: { topic: out }, limits: [ { rpm: 1 } ] "
      "}\n"
      "  - { id: c, source: { embedded: six }, key: \"{k}\", deliver: { topic: out }, limits: [ { rpm: 1 } ] "
      "}\n";
  EXPECT_EQ(good(chain).streams.size(), 3u);
}

TEST(Secrets, ComeFromFilesAndTheEnvironmentAndAreNeverShown) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "token") << "file-secret-0123456789\n";
  const std::string server =
      "server:\n  listen: \"0.0.0.0:443\"\n  tls: { cert: c.pem, key: /k.pem, clientCa: ca.pem }\n  "
      "ingestRate: 5\n"
      "  tokens:\n    - { file: token, scopes: [ingest, admin] }\n    - { env: MY_TOKEN, scopes: [check] }\n";
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "MY_TOKEN") return "env-secret-0123456789";
    return std::nullopt;
  };
  const auto loaded =
      parse(policy("    limit: 1\n    window: 1s\n") + server, folder + "f.yaml", environment);
  ASSERT_TRUE(loaded.config) << ::testing::PrintToString(texts(loaded));
  const Server& s = loaded.config->server;
  EXPECT_EQ(s.host, "0.0.0.0");
  EXPECT_EQ(s.port, 443);
  EXPECT_EQ(s.ingest_rate_max, 5);
  ASSERT_EQ(s.tokens.size(), 2u);
  EXPECT_EQ(s.tokens[0].secret, "file-secret-0123456789");
  EXPECT_THAT(s.tokens[0].scopes, ElementsAre(Scope::ingest, Scope::admin));
  EXPECT_EQ(s.tokens[1].secret, "env-secret-0123456789");
  EXPECT_EQ(s.tls->cert_file, folder + "c.pem");
  EXPECT_EQ(s.tls->key_file, "/k.pem");
  EXPECT_EQ(s.tls->client_ca_file, folder + "ca.pem");
  // The same secret twice is a slip; no message repeats it.
  const auto twice = parse(policy("    limit: 1\n    window: 1s\n") +
                               "server:\n  tokens:\n    - { file: token, scopes: [ingest] }\n"
                               "    - { file: token, scopes: [admin] }\n",
                           folder + "f.yaml");
  EXPECT_THAT(::testing::PrintToString(texts(twice)), HasSubstr("token 2 has the secret of an earlier one"));
  EXPECT_THAT(::testing::PrintToString(texts(twice)), ::testing::Not(HasSubstr("file-secret")));
}

TEST(Servers, StayOnThisMachineUnlessSomebodyIsAsked) {
  const auto problem = [](const std::string& server) {
    const auto loaded =
        parse(policy("    limit: 1\n    window: 1s\n") + "server: " + server + "\n", "f.yaml");
    return loaded.problems.empty() ? std::string() : loaded.problems[0].message;
  };
  for (const char* host : {"127.0.0.1:80", "127.8.8.8:80", "localhost:0", "[::1]:80"}) {
    EXPECT_EQ(problem("{ listen: \"" + std::string(host) + "\" }"), "") << host;
  }
  for (const char* host : {"0.0.0.0:80", "[::]:80", "10.0.0.1:80", "example.com:80", "127.evil.com:80"}) {
    EXPECT_THAT(problem("{ listen: \"" + std::string(host) + "\" }"), HasSubstr("leaves loopback without"))
        << host;
  }
  for (const char* listen : {"127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "::1:80", "[::1]80", "[::1",
                             "a b:80", "http://x:80", "127.0.0.1:-1"}) {
    EXPECT_THAT(problem("{ listen: \"" + std::string(listen) + "\" }"), HasSubstr("accepted: host:port"))
        << listen;
  }
  EXPECT_EQ(problem("{ listen: \"0.0.0.0:80\", tls: { cert: a, key: b, clientCa: c } }"), "");
}

TEST(Text, ThatHidesSomethingIsRefusedAtItsPlace) {
  const auto problem = [](const std::string& text) {
    const auto loaded = parse(text, "f.yaml");
    EXPECT_FALSE(loaded.config);
    return loaded.problems.empty() ? std::string() : to_string(loaded.problems[0]);
  };
  const std::string policies = policy("    limit: 1\n    window: 1s\n");
  // yaml-cpp ends the file at a byte 0x04.
  EXPECT_THAT(problem(policies + "\x04\n  - id: q\n"),
              HasSubstr("f.yaml:7:1: a control character stands here"));
  EXPECT_THAT(problem("# caf\xE9\n" + policies), HasSubstr("f.yaml:1:6: a byte that is not UTF-8"));
  EXPECT_THAT(problem("# a\rb\n" + policies), HasSubstr("f.yaml:1:4: a carriage return without a line feed"));
  EXPECT_THAT(problem("# \xE2\x80\xA8\n" + policies), HasSubstr("f.yaml:1:3: a Unicode line end"));
  EXPECT_THAT(problem(std::string("a: \0b", 5)), HasSubstr("f.yaml:1:4: a control character"));
  EXPECT_THAT(problem(std::string(20, '[') + std::string(20, ']')),
              HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(problem("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), HasSubstr("anchors are not accepted"));
  EXPECT_THAT(problem("a: [" +
                      [] {
                        std::string many;
                        for (int i = 0; i < 200'001; ++i) many += "1,";
                        return many;
                      }() +
                      "1]\n"),
              HasSubstr("the file has more than 200000 values"));
  EXPECT_THAT(problem(std::string((4u << 20) + 1, '#')), HasSubstr("larger than 4194304 bytes"));
}

TEST(Text, OfWindowsEditorsLoads) {
  EXPECT_EQ(good("\xEF\xBB\xBFpolicies:\r\n  - { id: p, limit: 1, window: 1s, onStoreFailure: open }\r\n")
                .policies.size(),
            1u);
}

TEST(Places, CountCharactersAndNotBytes) {
  const auto loaded = parse(
      "policies:\n  - { id: p, name: \"caf\xC3\xA9\", limit: x, window: 1s, "
      "onStoreFailure: open }\n",
      "f.yaml");
  ASSERT_EQ(loaded.problems.size(), 2u);
  EXPECT_THAT(to_string(loaded.problems[0]), HasSubstr("f.yaml:2:20: name stands in response headers"));
  EXPECT_THAT(to_string(loaded.problems[1]), HasSubstr("f.yaml:2:35: limit is 'x'"));
}

// The reference, docs/configuration.md.
std::string reference() {
  std::ifstream file(DRIPGATE_SOURCE_DIR "/docs/configuration.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Reference, HasAnExampleThatLoadsWithoutAProblem) {
  const std::string text = reference();
  const std::size_t start = text.find("```yaml\n") + 8;
  const std::string folder = ::testing::TempDir() + "reference/";
  std::filesystem::create_directories(folder + "secrets");
  std::ofstream(folder + "secrets/ingest-token") << "0123456789abcdef\n";
  std::filesystem::create_directories(folder + "tls");
  for (const char* pem : {"cert.pem", "key.pem", "clients.pem", "sinks.pem"})
    std::ofstream(folder + "tls/" + pem) << "-----BEGIN CERTIFICATE-----\n";
  std::ofstream(folder + "f.yaml") << text.substr(start, text.find("```", start) - start);
  const auto loaded = load_for_lint(folder + "f.yaml");
  EXPECT_TRUE(loaded.config);
  EXPECT_THAT(texts(loaded), ::testing::IsEmpty());
}

TEST(Lint, TakesARedisUrlFromTheEnvironmentWhateverIsSetHere) {
  const std::string file = ::testing::TempDir() + "redis-url-env.yaml";
  std::ofstream(file) << "store: { redis: { url: { env: REDIS_URL } } }\n"
                         "policies: [ { id: p, key: [ip], limit: 1, window: 1m, onStoreFailure: open } ]\n";
  const auto loaded = load_for_lint(file);
  EXPECT_TRUE(loaded.config);
  EXPECT_THAT(texts(loaded), ::testing::IsEmpty());
}

TEST(Lint, WarnsOfAMatchThatNoRequestIsSpelledLike) {
  const auto warned = [](const std::string& match) {
    return warning_of(
        "policies: [ { id: p, key: [ip], limit: 1, window: 1m, onStoreFailure: open, match: { " + match +
        " } } ]\n");
  };
  EXPECT_THAT(warned("method: post"),
              HasSubstr("match method 'post': requests are spelled otherwise, so it never "
                        "matches; accepted: 'POST'"));
  EXPECT_THAT(warned("path: /search/"), HasSubstr("accepted: '/search'"));
  EXPECT_THAT(warned("path: '/a//./b?q=1'"), HasSubstr("accepted: '/a/b'"));
  EXPECT_THAT(warned("route: POST /auth/login/"), HasSubstr("accepted: 'POST /auth/login'"));
  EXPECT_THAT(warned("host: API.example.com"), HasSubstr("accepted: 'api.example.com'"));
  for (const char* usual : {"method: POST", "path: '/'", "path: '/api/*'", "route: 'GET /users/{id}'",
                            "route: '/api/**'", "host: api.example.com", "plan: Free/"})
    EXPECT_EQ(
        texts(parse("policies: [ { id: p, key: [ip], limit: 1, window: 1m, onStoreFailure: open, match: { " +
                        std::string(usual) + " } } ]\n",
                    "f.yaml")),
        std::vector<std::string>{})
        << usual;
}

TEST(Reference, NamesEveryAcceptedKey) {
  const std::string text = reference();
  const std::string unknown =
      "x: 1\nserver: { x: 1, forwardAuth: { x: 1 }, tls: { x: 1 }, tokens: [ { x: 1 } ] }\nstore: { x: 1 "
      "}\npolicies:\n"
      "  - { x: 1, overrides: [ { x: 1 } ], idempotency: { x: 1 }, key: [ { x: 1 } ], limits: [ { x: 1 } ] "
      "}\n"
      "streams:\n  - { x: 1, source: { x: 1 }, deliver: { x: 1 } }\n";
  std::size_t keys = 0;
  for (const Problem& problem : parse(unknown, "f.yaml").problems) {
    if (!problem.message.starts_with("unknown key")) continue;
    std::istringstream words(problem.message.substr(problem.message.find("accepted: ") + 10));
    for (std::string word; std::getline(words, word, ',');) {
      word.erase(0, word.find_first_not_of(' '));
      if (word.starts_with("refillPer")) word = word.substr(9);
      EXPECT_THAT(text, HasSubstr(word)) << problem.message;
      ++keys;
    }
  }
  EXPECT_GT(keys, 80u);
}

TEST(Lint, DoesNotAskTheEnvironment) {
  const std::string file = ::testing::TempDir() + "lint.yaml";
  std::ofstream(file)
      << policy("    limit: 1\n    window: 1s\n") +
             "server: { tokens: [ { env: A, scopes: [check] }, { env: B, scopes: [admin] } ] }\n";
  EXPECT_FALSE(load(file).config);
  EXPECT_TRUE(load_for_lint(file).config);
}

TEST(Lint, LooksIntoThePemFilesThatOnlyTheirUsersOpen) {
  const std::string folder = ::testing::TempDir() + "pem/";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "key.pem") << "not a key\n";
  std::ofstream(folder + "ca.pem") << "-----BEGIN CERTIFICATE-----\n";
  const std::string file = folder + "f.yaml";
  std::ofstream(file) << policy("    limit: 1\n    window: 1s\n") +
                             "server: { tls: { cert: nope.pem, key: key.pem, clientCa: ca.pem } }\n";
  EXPECT_TRUE(load(file).config);
  const auto loaded = load_for_lint(file);
  EXPECT_FALSE(loaded.config);
  ASSERT_EQ(loaded.problems.size(), 2u);
  EXPECT_EQ(loaded.problems[0].message, "cert 'nope.pem' cannot be read: No such file or directory");
  EXPECT_EQ(loaded.problems[1].message,
            "key 'key.pem' holds no PEM; accepted: a file with -----BEGIN ...-----");
}

TEST(Lint, EndsWithASummary) {
  const std::string text = policy("    limit: 1\n    window: 1s\n");
  EXPECT_THAT(lint(parse(text, "f.yaml"), "f.yaml").lines,
              ElementsAre("f.yaml: 0 errors, 0 warnings; 1 policy, 0 streams"));
  EXPECT_FALSE(lint(parse(text, "f.yaml"), "f.yaml").errors);
  const std::string vendor = "vendors: [ { id: hubspot, limits: [ { rps: 10 } ], onStoreFailure: open } ]\n";
  EXPECT_THAT(lint(parse(text + vendor, "f.yaml"), "f.yaml").lines,
              ElementsAre("f.yaml: 0 errors, 0 warnings; 1 policy, 0 streams, 1 vendor"));
  const auto missing = lint(load("/nowhere/f.yaml"), "/nowhere/f.yaml");
  EXPECT_TRUE(missing.errors);
  EXPECT_THAT(missing.lines,
              ElementsAre("/nowhere/f.yaml:1:1: the file cannot be read: No such file or directory",
                          "/nowhere/f.yaml: 1 error, 0 warnings"));
}

// --- store: { redis: ... }

RedisStore redis_of(const std::string& store) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "REDIS_URL") return "rediss://app:s3cret-s3cret-s3cret@db.internal:6390/3";
    if (name == "PASSWORD") return "s3cret-s3cret-s3cret";
    return std::nullopt;
  };
  const Loaded loaded =
      parse("store: { redis: " + store +
                " }\npolicies:\n  - { id: p, key: [ip], limit: 1, window: 1s, onStoreFailure: open }\n",
            "f.yaml", environment);
  for (const Problem& problem : loaded.problems) ADD_FAILURE() << to_string(problem);
  return loaded.config ? std::get<RedisStore>(loaded.config->store) : RedisStore{};
}

TEST(Redis, OneServerByItsUrl) {
  const RedisStore store =
      redis_of("{ url: \"redis://db\", timeout: 8ms, keyPrefix: \"dg:\", partitions: 4 }");
  EXPECT_EQ(store.layout, RedisStore::Layout::single);
  EXPECT_EQ(store.nodes, (std::vector<Address>{{"db", 6379}}));
  EXPECT_EQ(store.timeout, 8ms);
  EXPECT_EQ(store.key_prefix, "dg:");
  EXPECT_EQ(store.partitions, 4);
  EXPECT_FALSE(store.tls);
}

TEST(Redis, AUrlWithAPasswordComesFromTheEnvironment) {
  const RedisStore store = redis_of("{ url: { env: REDIS_URL } }");
  EXPECT_EQ(store.nodes, (std::vector<Address>{{"db.internal", 6390}}));
  EXPECT_EQ(store.user, "app");
  EXPECT_EQ(store.password, "s3cret-s3cret-s3cret");
  EXPECT_EQ(store.database, 3);
  EXPECT_TRUE(store.tls);
}

TEST(Redis, AClusterWithTlsAndAUser) {
  const RedisStore store = redis_of(
      "{ cluster: [\"h1:7000\", \"[::1]:7001\"], tls: { ca: /ca.pem, cert: /c.pem, key: /k.pem }, user: app, "
      "password: { env: PASSWORD } }");
  EXPECT_EQ(store.layout, RedisStore::Layout::cluster);
  EXPECT_EQ(store.nodes, (std::vector<Address>{{"h1", 7000}, {"::1", 7001}}));
  EXPECT_EQ(store.tls->ca_file, "/ca.pem");
  EXPECT_EQ(store.tls->key_file, "/k.pem");
  EXPECT_EQ(store.password, "s3cret-s3cret-s3cret");
  EXPECT_EQ(store.partitions, 16);
}

TEST(Redis, SentinelsWithTheirUsualPort) {
  const RedisStore store = redis_of("{ sentinel: { master: mymaster, nodes: [s1, \"s2:26380\"] } }");
  EXPECT_EQ(store.layout, RedisStore::Layout::sentinel);
  EXPECT_EQ(store.sentinel_master, "mymaster");
  EXPECT_EQ(store.nodes, (std::vector<Address>{{"s1", 26379}, {"s2", 26380}}));
  EXPECT_EQ(store.partitions, 1);
}

}  // namespace
}  // namespace dripgate::config
