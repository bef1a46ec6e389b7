// Counter keys and key templates.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "core/counter_key.h"
#include "core/key_template.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

Policy policy(std::string id, std::vector<KeyPart> key, std::string scope = "") {
  Policy result;
  result.id = std::move(id);
  result.key = std::move(key);
  result.scope = std::move(scope);
  return result;
}
std::string key_of(const Policy& policy, const Descriptor& descriptor) {
  return counter_keys(policy, descriptor, 1).keys.at(0);
}

TEST(CounterKey, LooksAsDocumented) {
  const std::string secret = sha256_hex("sk_live_1", 16);
  EXPECT_EQ(
      key_of(policy("api-free", {{"apiKey", true}}, "tenant"), {{"tenant", "acme"}, {"apiKey", "sk_live_1"}}),
      "rl:{t:acme}:api-free:k:" + secret);
  EXPECT_EQ(key_of(policy("tenant-ceiling", {{"tenant"}}), {{"tenant", "acme"}}),
            "rl:{t:acme}:tenant-ceiling");
  EXPECT_EQ(key_of(policy("login", {{"ip"}, {"username"}}), {{"ip", "203.0.113.7"}, {"username", "manoj"}}),
            "rl:{ip:203.0.113.7}:login:u:manoj");
  EXPECT_EQ(key_of(policy("all", {}), {{"ip", "203.0.113.7"}}), "rl:{all}:all");
  EXPECT_EQ(counter_keys(policy("p", {{"user"}}), {{"user", "x"}}, 3).keys,
            (std::vector<std::string>{"rl:{u:x}:p", "rl:{u:x}:p:#1", "rl:{u:x}:p:#2"}));
}

TEST(CounterKey, ShowsNoSecretInAnyPlace) {
  for (const char* scope : {"", "apiKey", "token"}) {
    const Policy p = policy("p", {{"apiKey"}, {"token", true}}, scope);
    const std::string key = key_of(p, {{"apiKey", "AAAA"}, {"token", "BBBB"}});
    EXPECT_EQ(key.find("AAAA"), std::string::npos) << key;
    EXPECT_EQ(key.find("BBBB"), std::string::npos) << key;
    EXPECT_NE(key.find(sha256_hex("AAAA", 16)), std::string::npos) << key;
    EXPECT_NE(key.find(sha256_hex("BBBB", 16)), std::string::npos) << key;
  }
}

TEST(CounterKey, D3_CountsOneAddressOnceWhateverItsSpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"::ffff:1.2.3.4", "1.2.3.4"},
      {"::ffff:102:304", "1.2.3.4"},
      {"::FFFF:0102:0304", "1.2.3.4"},
      {"0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"},
      {"1.2.3.4", "1.2.3.4"},
      {"2001:db8:1:2::1.2.3.4", "2001:db8:1:2::/64"},
      {"2001:DB8:1:2:0:0:0:9", "2001:db8:1:2::/64"},
      {"2001:db8:1:2::a", "2001:db8:1:2::/64"},
      {"2001:db8:0:0:1::", "2001:db8::/64"},
      {"2001:0:0:2::1", "2001:0:0:2::/64"},
      {"64:ff9b::808:808", "8.8.8.8"},
      {"64:ff9b::909:909", "9.9.9.9"},
      {"64:ff9b:1::909:909", "64:ff9b:1::/64"},
      {"fe80::1%eth0.100", "fe80::/64"},
      {"fe80::1%", "fe80::/64"},
      {"::1", "::/64"},
      {"0:0:0:0:0:0:0:1", "::/64"},
      {"::1.2.3.4", "::/64"},
      {"::ffff:0:1.2.3.4", "::/64"},
      {"1.2.3", "1.2.3"},
      {"1.2.3.04", "1.2.3.04"},
      {"1.2.3.256", "1.2.3.256"},
      {"", ""},
      {"%", "%"},
      {"garbage", "garbage"},
      {":::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::", nullptr},
  };
  for (const auto& [text, canonical] : cases)
    EXPECT_EQ(canonical_ip(text), canonical ? canonical : text) << text;
  const std::string nul("1.2.3.4\0x", 9);
  EXPECT_EQ(canonical_ip(nul), nul);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {  // never throws, on anything
    std::string text(random() % 50, '\0');
    for (char& c : text) c = "0123456789abcdef:.%[]/ \0\xff"[random() % 26];
    const std::string once = canonical_ip(text);
    if (!once.ends_with("::/64")) EXPECT_EQ(canonical_ip(once), once) << text;
  }
}

TEST(CounterKey, D5_PartsDoNotRunTogether) {
  const Policy pair = policy("P", {{"tenant"}, {"user"}});
  EXPECT_NE(key_of(pair, {{"tenant", "x:y"}, {"user", "z"}}),
            key_of(pair, {{"tenant", "x"}, {"user", "y:z"}}));
  const Policy path = policy("P", {{"ip"}, {"path"}});
  EXPECT_NE(key_of(path, {{"ip", "10.0.0.1"}, {"path", "1/x"}}),
            key_of(path, {{"ip", "10.0.0.11"}, {"path", "/x"}}));
  const Policy user = policy("P", {{"user"}});
  std::set<std::string> keys;
  for (const char* value : {"a\nb", "a b", "a%20b", "a_b", "a%0ab", "", "*", "%2a", "{all}", "u:x}:P"})
    keys.insert(key_of(user, {{"user", value}}));
  keys.insert(key_of(user, {}));
  EXPECT_EQ(keys.size(), 11u) << "every value, none and missing are different keys";
  EXPECT_NE(key_of(user, {{"user", "x"}}), key_of(policy("Q", {{"user"}}), {{"user", "x"}}));
}

TEST(CounterKey, NoValueForgesStructure) {
  std::mt19937_64 random(5);
  const Policy p = policy("p", {{"tenant"}, {"user"}, {"path"}});
  std::map<std::string, Descriptor> seen;
  for (int i = 0; i < 50000; ++i) {
    Descriptor d;
    for (const char* name : {"tenant", "user", "path"}) {
      std::string value(random() % 4, '\0');
      for (char& c : value) c = "{}:*#~%2ab\n\xc3"[random() % 13];
      d[name] = value;
    }
    const std::string key = key_of(p, d);
    EXPECT_EQ(std::count(key.begin(), key.end(), '{'), 1);
    EXPECT_EQ(std::count(key.begin(), key.end(), '}'), 1);
    EXPECT_EQ(std::count(key.begin(), key.end(), ':'), 7) << key;
    for (const char c : key) EXPECT_TRUE(c > ' ' && c < 0x7f) << key;
    const auto [known, fresh] = seen.emplace(key, d);
    if (!fresh) EXPECT_EQ(known->second, d) << key;
  }
  EXPECT_GT(seen.size(), 10000u);
}

TEST(CounterKey, LongValuesAreHashedAndStayApart) {
  const std::string longest(128, 'x'), longer(129, 'x');
  EXPECT_EQ(escape_key_value(longest), longest);
  EXPECT_EQ(escape_key_value(longer), "~" + sha256_hex(longer, 32));
  EXPECT_NE(escape_key_value(longer), escape_key_value(longer + 'x'));
  EXPECT_NE(escape_key_value(escape_key_value(longer)), escape_key_value(longer));
}

TEST(CounterKey, RequestsThatMissAPartShareOneBucketOfTheirScope) {
  const Policy p = policy("api", {{"apiKey"}, {"user"}}, "tenant");
  const CounterKeys missing = counter_keys(p, {{"tenant", "acme"}, {"user", "a"}}, 1);
  EXPECT_EQ(missing.missing, std::vector<std::string>{"apiKey"});
  EXPECT_EQ(missing.keys.at(0), "rl:{t:acme}:api:*");
  EXPECT_EQ(key_of(p, {{"tenant", "acme"}, {"user", "b"}}), missing.keys.at(0))
      << "the other part buys no bucket";
  EXPECT_EQ(key_of(p, {{"tenant", "acme"}}), missing.keys.at(0));
  EXPECT_EQ(key_of(p, {{"apiKey", "k"}, {"user", "b"}}).substr(0, 7), "rl:{*}:");
  EXPECT_TRUE(counter_keys(p, {{"tenant", "a"}, {"apiKey", ""}, {"user", ""}}, 1).missing.empty());
}

std::optional<std::string> render(std::string_view text,
                                  std::map<std::string, std::string, std::less<>> values,
                                  bool plain = false) {
  const auto parsed = KeyTemplate::parse(text);
  EXPECT_TRUE(parsed) << text;
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  return plain ? parsed->render_plain(lookup) : parsed->render(lookup);
}

TEST(KeyTemplate, FillsNamesAndKeepsLiterals) {
  EXPECT_EQ(render("merchant_{merchant_id}:payout", {{"merchant_id", "8421"}}), "merchant_8421:payout");
  EXPECT_EQ(render("{/a/b}-{{x}}", {{"/a/b", "1"}}), "1-{x}");
  EXPECT_EQ(render("constant", {}), "constant");
  EXPECT_EQ(render("m:{id}", {}), std::nullopt);
  EXPECT_EQ(render("m:{id}", {{"id", ""}}), std::nullopt);
  EXPECT_EQ(render("{id}", {{"id", "a:b {c}"}}), "a%3ab%20%7bc%7d");
  EXPECT_EQ(render("{id}", {{"id", "a:b {c}"}}, true), "a:b {c}");
  EXPECT_EQ(render("{id}", {{"id", std::string(300, 'x')}})->size(), 33u);
  EXPECT_EQ(KeyTemplate::parse("{a}{/b/c}x{a}")->names(), (std::vector<std::string>{"a", "/b/c", "a"}));
  EXPECT_EQ(KeyTemplate::parse("{a}:x")->text(), "{a}:x");
}

TEST(KeyTemplate, NamesTheColumnOfAMistake) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1: "},
      {"merchant{id", "column 9: '{' is never closed"},
      {"a{b{c}", "column 2: '{' is never"},
      {"a}b", "column 2: '}'"},
      {"a{}b", "column 2: '{}' names nothing"},
      {"{a}}", "column 4: '}'"},
      {"{/a~2}", "column 4: in a JSON pointer"},
      {"{/a~}", "column 4: in a JSON pointer"},
      {"{", "column 1: '{'"},
  };
  for (const auto& [text, detail] : cases) {
    const auto parsed = KeyTemplate::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(parsed.error().detail.starts_with(detail)) << parsed.error().detail;
  }
}

TEST(KeyTemplate, DifferentValuesNeverRenderAlike) {
  std::mt19937_64 random(11);
  for (const char* text : {"{a}{b}", "{a}_{b}", "{a}:{b}", "{a}2{b}", "{a}%{b}", "{a}x{b}:{a}", "{a}f{b}",
                           "{a}~{b}", "{a}ab{b}"}) {
    std::map<std::string, std::pair<std::string, std::string>> seen;
    for (int i = 0; i < 8000; ++i) {
      const auto value = [&] {
        std::string v(1 + random() % 3, '\0');
        for (char& c : v) c = "_:2%x~f5ab"[random() % 10];
        return v;
      };
      const std::pair values{value(), value()};
      const auto key = render(text, {{"a", values.first}, {"b", values.second}});
      ASSERT_TRUE(key);
      const auto [known, fresh] = seen.emplace(*key, values);
      if (!fresh) ASSERT_EQ(known->second, values) << text << " " << *key;
    }
  }
}

}  // namespace
}  // namespace dripgate::core
