// What a client writes to get a second budget: made-up headers, other addresses of its network, values that
// forge keys, other spellings of a path, one Idempotency-Key for everything. None of it does.
#include <random>
#include <set>

#include "unit/server/gate_api.h"

namespace dripgate::server {
namespace {

using testing::GateApi;
using testing::json_of;

constexpr int kLimit = 10;
const char* const kPerIp = "    - { id: p, key: [ip], limit: 10, window: 1h, onStoreFailure: closed }\n";

std::string number(std::mt19937& random, int below) {
  return std::to_string(random() % static_cast<unsigned>(below));
}

std::string some_address(std::mt19937& random) {
  return number(random, 256) + "." + number(random, 256) + "." + number(random, 256) + "." +
         number(random, 256);
}

TEST(Attack, MadeUpHopsAndHeadersOfProxiesSelectNoBucket) {
  GateApi api(kPerIp);
  std::mt19937 random(1);
  int allowed = 0;
  for (int i = 0; i < 200; ++i) {
    const http::Headers made_up{{"X-Forwarded-For", some_address(random) + ", " + some_address(random)},
                                {"X-Forwarded-For", "junk " + number(random, 1000) + ", 203.0.113.8"},
                                {"Forwarded", "for=" + some_address(random)},
                                {"X-Real-IP", some_address(random)},
                                {"True-Client-IP", some_address(random)},
                                {"X-Forwarded-Host", "h" + number(random, 1000)},
                                {"X-Forwarded-Proto", "p" + number(random, 1000)}};
    allowed += api.forward("GET", "/", made_up).status == 200 ? 1 : 0;
  }
  EXPECT_EQ(allowed, kLimit);
}

TEST(Attack, AllAddressesOfOneSlash64AreOneClient) {
  GateApi api(kPerIp);
  std::mt19937 random(2);
  std::set<std::string> addresses;
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) {
    char address[64];
    std::snprintf(address, sizeof address, "2001:DB8:1:2:%x:%x:%x:%x",
                  static_cast<unsigned>(random() & 0xffff), static_cast<unsigned>(random() & 0xffff),
                  static_cast<unsigned>(random() & 0xffff), static_cast<unsigned>(random() & 0xffff));
    addresses.insert(address);
    allowed += api.forward("GET", "/", {{"X-Forwarded-For", address}}).status == 200 ? 1 : 0;
  }
  EXPECT_GT(addresses.size(), 990u);
  EXPECT_EQ(allowed, kLimit);
}

/// Bytes that structure keys, scripts, lines and JSON, that are no UTF-8, or many.
std::vector<std::string> hostile_values() {
  std::vector<std::string> values{"}{:",
                                  "victim}{:",
                                  "}:p:k:victim",
                                  "rl:{victim}:p",
                                  "victim\n",
                                  "\r\nvictim",
                                  "victim*",
                                  "*",
                                  "~",
                                  "#1",
                                  "%76ictim",
                                  "victim%00",
                                  "\"victim\"",
                                  "\\u0076ictim",
                                  "\xff\xfevictim",
                                  "\xc0\xaf",
                                  "\xed\xa0\x80",
                                  "vict\xc3",
                                  "victim|0",
                                  " victim",
                                  "victim:#60us"};
  values.emplace_back("victim\0x", 8);
  values.emplace_back(10'000, 'x');
  values.push_back(std::string(10'000, 'x') + "y");
  values.emplace_back(10'000, '\xff');
  return values;
}

TEST(Attack, ValuesThatForgeKeysReachTheirOwnCounterAndNoOther) {
  const char* const policies = R"(
    - { id: p, match: { user: "*" }, key: [user], limit: 1, window: 1h, onStoreFailure: closed }
    - { id: ip, key: [ip], limit: 30, window: 1h, onStoreFailure: closed }
)";
  GateApi api(policies, R"(forwardAuth: { attributes: { user: "header:x-user" } })");
  const auto ask = [&](const std::string& user) { return api.forward("GET", "/", {{"X-User", user}}); };
  ASSERT_EQ(ask("victim").status, 200);
  int allowed = 1;
  for (const std::string& value : hostile_values()) {
    EXPECT_EQ(ask(value).status, 200) << value.substr(0, 40);
    const auto again = ask(value);
    EXPECT_EQ(again.status, 429) << value.substr(0, 40);
    EXPECT_TRUE(nlohmann::json::accept(again.body));
    ++allowed;
  }
  EXPECT_EQ(ask("victim").status, 429) << "its counter was not reset";
  for (int i = 0; i < 100; ++i) allowed += ask("other" + std::to_string(i)).status == 200 ? 1 : 0;
  EXPECT_EQ(allowed, 30) << "whatever the user is called, the address has one budget";
}

TEST(Attack, SpellingsOfOnePathAreOneRoute) {
  GateApi api(
      "    - { id: p, match: { route: \"POST /auth/login\" }, key: [ip], limit: 10, window: 1h, "
      "onStoreFailure: closed "
      "}\n");
  std::mt19937 random(3);
  constexpr std::array kParts{"/", "//", "/./", "/x/../", "/%2e/", "/y/%2E%2e/", "/./x/.././"};
  const auto letters = [&](const std::string& word) {
    std::string out;
    for (const char c : word) {
      char encoded[8];
      std::snprintf(encoded, sizeof encoded, random() % 2 == 0 ? "%%%02x" : "%%%02X",
                    static_cast<unsigned>(c));
      out += random() % 2 == 0 ? std::string(1, c) : encoded;
    }
    return out;
  };
  std::set<std::string> spellings;
  int allowed = 0;
  for (int i = 0; i < 300; ++i) {
    std::string path = kParts[random() % kParts.size()] + letters("auth") + kParts[random() % kParts.size()] +
                       letters("login") + (random() % 2 == 0 ? "/" : "") +
                       (random() % 2 == 0 ? "?a=/b" : "#c");
    spellings.insert(path);
    allowed += api.forward(random() % 2 == 0 ? "POST" : "post", path).status == 200 ? 1 : 0;
  }
  EXPECT_GT(spellings.size(), 250u);
  EXPECT_EQ(allowed, kLimit);
}

TEST(Attack, OneIdempotencyKeyForEverythingGetsNoMoreThanItsReplays) {
  constexpr int kReplays = 3;
  GateApi api(
      "    - { id: p, key: [ip], limit: 10, window: 1h, onStoreFailure: closed, idempotency: { ttl: 10m, "
      "maxReplays: 3 } "
      "}\n");
  int by_gateway = 0;
  for (int i = 0; i < 1000; ++i)
    by_gateway +=
        api.forward("GET", "/" + std::to_string(i), {{"Idempotency-Key", "k"}}).status == 200 ? 1 : 0;
  EXPECT_LE(by_gateway, kLimit * (1 + kReplays));
  EXPECT_GE(by_gateway, kLimit);
  int by_service = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto said = api.post("/v1/check", R"({"attributes":{"ip":"9.9.9.9"},"idempotencyKey":"k"})");
    by_service += json_of(said)["allowed"] == true ? 1 : 0;
  }
  EXPECT_LE(by_service, kLimit * (1 + kReplays));
  EXPECT_GE(by_service, kLimit);
}

}  // namespace
}  // namespace dripgate::server
