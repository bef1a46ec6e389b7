// A right file with random slips: never a crash, and never a config that silently lacks a limit the text
// still shows. The oracle reads the text without any YAML.
#include <cctype>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "config/config.h"

namespace dripgate::config {
namespace {

constexpr const char* kFile = R"(store: { memory: {} }
policies:
  - id: api-free
    match: { plan: free }
    key: [apiKey]
    algorithm: token-bucket
    capacity: 20
    refillPerMinute: 100
    onStoreFailure: local
  - id: login
    match: { route: "POST /auth/login" }
    key: [ip, username]
    algorithm: sliding-log
    limit: 10
    window: 60s
    onStoreFailure: closed
  - id: many
    key: [tenant]
    limits:
      - { rps: 5 }
      - { rpm: 100 }
      - { rpd: 1000, timezone: Asia/Kolkata }
      - { limit: 7, window: 90s }
    onStoreFailure: open
streams:
  - id: payouts
    source: { embedded: payouts }
    key: "merchant_{merchant_id}:payout"
    limits: [ { rpm: 100 }, { rph: 900 } ]
    maxDelay: 2h
    deliver: { http: "http://127.0.0.1:9000/payouts", timeout: 10s }
)";

// What the text shows outside of comments: one limit per word that carries a count.
std::size_t shown_limits(const std::string& text) {
  static const std::regex word("(^|[^A-Za-z0-9_])(rps|rpm|rph|rpd|limit|refillPerMinute)[ ]*:");
  std::istringstream lines(text);
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) {
    const std::size_t comment = line.starts_with('#') ? 0 : line.find(" #");
    line = line.substr(0, comment);
    count +=
        static_cast<std::size_t>(std::distance(std::sregex_iterator(line.begin(), line.end(), word), {}));
  }
  return count;
}

std::size_t loaded_limits(const Config& config) {
  std::size_t count = 0;
  for (const auto& policy : config.policies) count += policy->limits.size();
  for (const auto& stream : config.streams) count += stream.stream->booking->limits.size();
  return count;
}

// Numbers may only be read as they stand in the text.
bool shows_number(const std::string& text, core::Units number) {
  return text.find(std::to_string(number)) != std::string::npos;
}

std::string mutate(std::string text, std::mt19937& random) {
  static const std::string alphabet = "{}[]:,-#\"'\\ \n\t&*!|>%@`?~0129abezlL._/\r\x04\xC3\xA9";
  const std::size_t at = random() % text.size();
  const char other = alphabet[random() % alphabet.size()];
  switch (random() % 6) {
    case 0:
      text[at] = other;
      break;
    case 1:
      text.insert(at, 1, other);
      break;
    case 2:
      text.erase(at, 1);
      break;
    case 3:
      std::swap(text[at], text[random() % text.size()]);
      break;
    case 4: {  // a line twice
      const std::size_t start = text.rfind('\n', at) + 1;
      const std::size_t end = text.find('\n', at);
      text.insert(start, text.substr(start, end - start + 1));
      break;
    }
    default: {  // other indentation
      const std::size_t start = text.rfind('\n', at) + 1;
      random() % 2 == 0 ? text.insert(start, 1, ' ') : text.erase(start, 1);
      break;
    }
  }
  return text;
}

void expect_whole(const std::string& text, const Config& config) {
  EXPECT_EQ(loaded_limits(config), shown_limits(text)) << text;
  for (const auto& policy : config.policies) {
    EXPECT_TRUE(policy->unlimited || !policy->limits.empty()) << text;
    for (const auto& limit : policy->limits)
      EXPECT_TRUE(shows_number(text, limit.limit)) << limit.limit << text;
  }
  for (const auto& stream : config.streams) {
    EXPECT_FALSE(stream.stream->booking->limits.empty()) << text;
    for (const auto& limit : stream.stream->booking->limits)
      EXPECT_TRUE(shows_number(text, limit.limit)) << text;
  }
}

TEST(Mutations, NeverCrashAndNeverLoseALimitInSilence) {
  const std::string original = kFile;
  ASSERT_EQ(shown_limits(original), 8u);
  const auto untouched = parse(original, "f.yaml");
  ASSERT_TRUE(untouched.config);
  ASSERT_EQ(loaded_limits(*untouched.config), 8u);
  int accepted = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 6'000; ++seed) {
    std::mt19937 random(seed);
    std::string text = original;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) text = mutate(std::move(text), random);
    const auto loaded = parse(text, "f.yaml");
    if (loaded.config) {
      ++accepted;
      expect_whole(text, *loaded.config);
    } else {
      ++refused;
      ASSERT_FALSE(loaded.problems.empty()) << text;
    }
    for (const Problem& problem : loaded.problems) {
      EXPECT_GE(problem.line, 1);
      EXPECT_GE(problem.column, 1);
      EXPECT_FALSE(problem.message.empty());
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  // Both kinds are reached: harmless slips and harmful ones.
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 3'000);
}

TEST(Mutations, OfRandomBytesNeverCrash) {
  std::mt19937 random(1);
  const std::string alphabet = "{}[]:,-#\"'\\ \n&*!|>%@`?~<=01az./\t";
  for (int i = 0; i < 6'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 60; n > 0; --n) text += alphabet[random() % alphabet.size()];
    EXPECT_FALSE(parse(text, "f.yaml").config) << text;
  }
}

TEST(Mutations, CutAnywhereNeverLoadAsLess) {
  const std::string original = kFile;
  for (std::size_t length = 0; length < original.size(); ++length) {
    const std::string text = original.substr(0, length);
    const auto loaded = parse(text, "f.yaml");
    if (loaded.config) expect_whole(text, *loaded.config);
  }
}

}  // namespace
}  // namespace dripgate::config
