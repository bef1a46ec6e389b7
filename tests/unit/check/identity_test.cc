// Who is asking and for what: client addresses and paths in one spelling.
#include <gtest/gtest.h>

#include "check/client_address.h"
#include "check/route.h"
#include "unit/check/world.h"

namespace dripgate::check {
namespace {

std::string client(const std::string& peer, std::vector<std::string_view> lines) {
  return client_address(peer, lines, {IpNetwork::parse("10.0.0.0/8").value()});
}

TEST(ClientAddress, IsCountedFromTheRightThroughTrustedProxiesOnly) {  // case D2
  EXPECT_EQ(client("198.51.100.7", {"1.2.3.4"}), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.5", {"9.9.9.9, 203.0.113.8"}), "203.0.113.8");
  EXPECT_EQ(client("10.0.0.5", {"9.9.9.9", "203.0.113.8, 10.1.1.1"}), "203.0.113.8");
  EXPECT_EQ(client("10.0.0.5", {"203.0.113.8:5123"}), "203.0.113.8");
  EXPECT_EQ(client("10.0.0.5", {"[2001:db8::1]:443"}), "2001:db8::1");
  EXPECT_EQ(client("10.0.0.5", {"garbage"}), "10.0.0.5");
  EXPECT_EQ(client("10.0.0.5", {"1.2.3.4, garbage, 10.1.1.1"}), "10.1.1.1");
  EXPECT_EQ(client("10.0.0.5", {}), "10.0.0.5");
  EXPECT_EQ(client("10.0.0.5", {""}), "10.0.0.5");
  EXPECT_EQ(client("10.0.0.5", {"10.1.1.1, 10.2.2.2"}), "10.1.1.1");
  EXPECT_EQ(client("::ffff:10.0.0.5", {"203.0.113.8"}), "203.0.113.8");
  EXPECT_EQ(client("10.0.0.5", {"[", ""}), "10.0.0.5");
}

TEST(ClientAddress, MadeUpHeadersBuyNoSecondBudget) {  // case D2 (6)
  World world("    - { id: p, key: [ip], limit: 10, window: 60s, onStoreFailure: closed }");
  int allowed = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string forged = "1.2." + std::to_string(i) + ".4";
    allowed += world.check({{"ip", client("198.51.100.7", {forged})}}).allowed() ? 1 : 0;
  }
  EXPECT_EQ(allowed, 10);
}

TEST(ClientAddress, AnotherPortIsNoOtherClient) {
  World world("    - { id: p, key: [ip], limit: 3, window: 60s, onStoreFailure: closed }");
  int allowed = 0;
  for (int port = 1; port < 20; ++port) {
    const std::string end = ":" + std::to_string(port);
    for (const std::string& ip : {"1.2.3.4" + end, "[2001:db8:1:2::1]" + end, "[::ffff:1.2.3.4]" + end})
      allowed += world.check({{"ip", ip}}).allowed() ? 1 : 0;
  }
  EXPECT_EQ(allowed, 2 * 3);
  EXPECT_EQ(bare_address(" 1.2.3.4\t"), "1.2.3.4");
  for (const char* none : {"", "[", "[]", ":", "a:1", "unknown", "1.2.3.4.5:6"})
    EXPECT_EQ(bare_address(none), none);
}

TEST(ClientAddress, AWholeIpv6NetworkIsOneClient) {  // case D3
  World world("    - { id: p, key: [ip], limit: 10, window: 60s, onStoreFailure: closed }");
  int allowed = 0;
  for (int i = 0; i < 1000; ++i)
    allowed += world.check({{"ip", "2001:db8:1:2::" + std::to_string(i)}}).allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 10);
  EXPECT_TRUE(world.check({{"ip", "2001:db8:1:3::1"}}).allowed());
}

TEST(Path, HasOneSpelling) {  // case D6
  for (const char* spelling : {"/api/v2/users/pw", "/api/v2/users//pw", "/api/v2/users/./pw",
                               "/api/v2/x/../users/pw", "/api/v2/users/%70w", "/api/v2/users/pw?x=1",
                               "/api/v2/users/pw/", "/api/v2/users/%2e/pw", "/api/%2E%2e/api/v2/users/pw",
                               "http://host/api/v2/users/pw#f", "//api/v2/users/pw", "/../api/v2/users/pw"}) {
    EXPECT_EQ(normal_path(spelling), "/api/v2/users/pw") << spelling;
  }
  EXPECT_EQ(normal_path("/api/v2/users%2fpw"), "/api/v2/users%2Fpw");  // an encoded slash is data
  EXPECT_EQ(normal_path("/%2570w"), "/%2570w");                        // decoded once
  EXPECT_EQ(normal_path("/a%zz%"), "/a%25zz%25");
  EXPECT_EQ(normal_path("/@me"), normal_path("/%40me"));
  EXPECT_EQ(normal_path("/\xc3\xa9\n{}"), "/%C3%A9%0A%7B%7D");
  EXPECT_EQ(normal_path(""), "/");
  EXPECT_EQ(normal_path("/.."), "/");
}

TEST(Path, AMethodIsOneWordSoThatNoRouteReadsAsTwo) {
  core::Descriptor facts{{"method", "get /a b"}, {"path", "/auth/login"}};
  normalise(facts);
  EXPECT_EQ(facts.at("route"), "GET%20%2FA%20B /auth/login");
  const core::Descriptor once = facts;
  normalise(facts);
  EXPECT_EQ(facts, once);
}

TEST(Path, RespellingsBuyNoFreshCounter) {  // case D6
  World world(R"(
    - { id: p, match: { route: "/api/v2/users/pw" }, key: [ip], limit: 1, window: 60s, onStoreFailure: closed }
)");
  const auto allowed = [&](const std::string& route) {
    return world.check({{"route", route}, {"ip", "1.2.3.4"}}).allowed();
  };
  EXPECT_TRUE(allowed("GET /api/v2/users/pw"));
  for (const char* path : {"/api/v2/users//pw", "/api/v2/users/./pw", "/api/v2/x/../users/pw",
                           "/api/v2/users/%70w", "/api/v2/users/pw?x=1", "/api/v2/users/pw/"}) {
    EXPECT_FALSE(allowed("GET " + std::string(path))) << path;
    EXPECT_FALSE(allowed("get " + std::string(path))) << path;
    EXPECT_FALSE(world.check({{"method", "POST"}, {"path", path}, {"ip", "1.2.3.4"}}).allowed()) << path;
  }
  EXPECT_TRUE(allowed("GET /api/v2/users%2Fpw"));
  World posts(
      "    - { id: p, match: { method: POST }, key: [ip], limit: 0, window: 60s, onStoreFailure: closed }");
  EXPECT_FALSE(posts.check({{"method", "post"}, {"ip", "1.2.3.4"}}).allowed());
}

TEST(IpNetwork, TakesBlocksOfBothKinds) {
  const auto holds = [](const char* network, const char* address) {
    return IpNetwork::parse(network).value().contains(parse_ip(address).value());
  };
  EXPECT_TRUE(holds("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(holds("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(holds("10.0.0.0/8", "::ffff:10.1.1.1"));
  EXPECT_TRUE(holds("192.0.2.7", "192.0.2.7"));
  EXPECT_FALSE(holds("192.0.2.6/31", "192.0.2.8"));
  EXPECT_TRUE(holds("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(holds("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(holds("::/0", "1.2.3.4"));
  for (const char* wrong : {"", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "host",
                            "fe80::1%eth0", "2001:db8::/129"}) {
    EXPECT_FALSE(IpNetwork::parse(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace dripgate::check
