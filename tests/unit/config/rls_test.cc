// server.rls: where Envoy's rate limit service listens.
#include "config/snapshot.h"
#include "unit/config/texts.h"

namespace dripgate::config {
namespace {

using ::testing::HasSubstr;

Loaded loaded_with(const std::string& server) {
  return parse(policy("    limit: 1\n    window: 1s\n") + "server: " + server + "\n", "f.yaml");
}

std::string problem(const std::string& server) {
  const Loaded loaded = loaded_with(server);
  return loaded.problems.empty() ? std::string() : to_string(loaded.problems[0]);
}

TEST(ServerRls, IsAnAddressOfItsOwn) {
  const Loaded loaded = loaded_with("{ rls: { listen: \"127.0.0.1:8081\" } }");
  ASSERT_TRUE(loaded.config) << problem("{ rls: { listen: \"127.0.0.1:8081\" } }");
  EXPECT_EQ(loaded.config->server.rls, (Address{"127.0.0.1", 8081}));
  EXPECT_EQ(loaded_with("{ listen: \"127.0.0.1:8080\" }").config->server.rls, std::nullopt);
  EXPECT_EQ(problem("{ listen: \"127.0.0.1:0\", rls: { listen: \"127.0.0.1:0\" } }"), "");
}

TEST(ServerRls, WhatIsWrongIsNamedAtItsPlace) {
  EXPECT_THAT(problem("{ rls: { listen: \"8081\" } }"),
              HasSubstr("f.yaml:7:26: listen is '8081'; accepted: host:port"));
  EXPECT_THAT(problem("{ rls: { listen: \"127.0.0.1:1\", port: 8081 } }"),
              HasSubstr("f.yaml:7:41: unknown key 'port'"));
  EXPECT_THAT(problem("{ rls: {} }"), HasSubstr("accepted: host:port, such as 127.0.0.1:8081"));
  EXPECT_THAT(problem("{ rls: { listen: \"127.0.0.1:8080\" } }"),
              HasSubstr("rls listens on port 8080, where server.listen is; accepted: another port"));
  EXPECT_THAT(problem("{ rls: { listen: \"0.0.0.0:8081\" } }"),
              HasSubstr("rls.listen leaves loopback without tokens"));
  EXPECT_EQ(problem("{ rls: { listen: \"0.0.0.0:8081\" }, tls: { cert: a, key: b, clientCa: c } }"), "");
}

TEST(ServerRls, AnotherAddressNeedsARestart) {
  const Loaded running = loaded_with("{ rls: { listen: \"127.0.0.1:8081\" } }");
  const auto problems = restart_problems(*running.config, loaded_with("{ listen: \"127.0.0.1:8080\" }"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("another server.rls needs a restart"));
}

}  // namespace
}  // namespace dripgate::config
