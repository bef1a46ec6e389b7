// A user's own policy tests: what their lines mean, and what is said where a policy answers otherwise.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/lint_cases.h"

namespace dripgate::cli {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(std::string(DRIPGATE_SOURCE_DIR) + file).rdbuf();
  return text.str();
}

config::ConfigPtr config_of(const std::string& text) {
  auto loaded = config::parse(text, "test.yaml");
  return std::make_shared<const config::Config>(std::move(loaded.config).value());
}

TEST(Cases, OfTheExampleHold) {
  const auto lines = read_cases(text_of("/examples/gate.cases"));
  ASSERT_TRUE(lines) << lines.error().detail;
  EXPECT_EQ(lines->size(), 9u);
  const auto found = run_cases(config_of(text_of("/examples/gate.yaml")), *lines);
  ASSERT_TRUE(found) << found.error().detail;
  EXPECT_TRUE(found->empty()) << found->front();
}

TEST(Cases, ThatAreAnsweredOtherwiseAreNamed) {
  const auto config =
      config_of("policies: [ { id: p, key: [user], limit: 2, window: 60s, onStoreFailure: closed } ]\n");
  const auto lines = read_cases(
      "# comment\n\n+0s 3x user=a -> allow\n+1s user=a -> allow\n+1s user=a -> deny policy q\n"
      "+1s user=a -> deny remaining 1\n+1s user=a -> deny wait 58s\n+60s user=\"a\" -> allow remaining 1\n");
  ASSERT_TRUE(lines) << lines.error().detail;
  const auto found = run_cases(config, *lines);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found,
            (std::vector<std::string>{"line 3 (3 of 3x): expected allowed, is denied",
                                      "line 4: expected allowed, is denied",
                                      "line 5: expected policy q, is p", "line 6: expected remaining 1, is 0",
                                      "line 7: expected wait 58000 ms, is 59000 ms"}));
}

TEST(Cases, ThatCannotBeReadAreAllNamed) {
  const auto lines =
      read_cases("user=a -> maybe\nuser=a -> allow\ngarbage\n+1s user=a -> deny\nuser=a -> deny\n");
  ASSERT_FALSE(lines);
  std::vector<std::string> places;
  std::istringstream details(lines.error().detail);
  for (std::string line; std::getline(details, line);) places.push_back(line.substr(0, line.find(':')));
  EXPECT_EQ(places, (std::vector<std::string>{"line 1", "line 3", "line 5"}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "garbage\n";
  const std::string detail = read_cases(many).error().detail;
  EXPECT_EQ(std::ranges::count(detail, '\n'), static_cast<std::ptrdiff_t>(kWrongLinesNamedMax) - 1);
}

TEST(Cases, ThatCannotBeReadNameTheLine) {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {"user=a", "line 1: no answer"},
           {"user=a ->", "line 1: no answer"},
           {"\nuser=a -> maybe", "line 2: 'maybe'"},
           {"user -> allow", "line 1: 'user'"},
           {"user=a user=b -> allow", "'user' is there twice"},
           {"user=\"a -> allow", "not closed"},
           {"0x user=a -> allow", "'0x'"},
           {"+soon user=a -> allow", "'soon'"},
           {"user=a cost many -> allow", "cost"},
           {"user=a -> allow remaining", "'remaining' has no value"},
           {"user=a -> allow wait 5", "'wait 5'"},
           {"+2s user=a -> allow\n+1s user=a -> allow", "line 2: its time"}}) {
    const auto lines = read_cases(text);
    ASSERT_FALSE(lines) << text;
    EXPECT_NE(lines.error().detail.find(place), std::string::npos) << lines.error().detail;
  }
}

}  // namespace
}  // namespace dripgate::cli
