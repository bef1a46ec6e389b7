// Wrong configs: the rows of wrong_configs.txt (the text, and exactly what a person is told). Each row is
// also written over the file of a running set, which must stay as it is.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/lint.h"
#include "config/snapshot.h"

namespace dripgate::config {
namespace {

constexpr const char* kGood = R"(policies:
  - id: P1
    match: { plan: free }
    key: [tenant]
    limit: 5
    window: 1m
    onStoreFailure: closed
  - { id: P2, key: [tenant], limits: [ { rph: 100 } ], onStoreFailure: local }
streams:
  - id: payouts
    source: { embedded: payouts }
    key: "merchant_{merchant_id}"
    limits: [ { rpm: 100 } ]
    deliver: { http: "http://127.0.0.1:9000/payouts" }
store: { sqlite: drip.db }
)";

struct WrongConfig {
  std::string name;
  std::string yaml;
  std::vector<std::string> problems;  // without the file's name
};

void PrintTo(const WrongConfig& row, std::ostream* out) {
  *out << row.name;
}

// "=== Name", the text, "=> problem" lines.
std::vector<WrongConfig> read_rows() {
  std::ifstream file(DRIPGATE_SOURCE_DIR "/tests/unit/config/wrong_configs.txt");
  std::vector<WrongConfig> rows;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("=== ")) {
      rows.push_back({line.substr(4), {}, {}});
    } else if (line.starts_with("=> ")) {
      rows.back().problems.push_back(line.substr(3));
    } else if (!rows.empty() && rows.back().problems.empty()) {
      rows.back().yaml += line + "\n";
    }
  }
  return rows;
}

std::vector<std::string> messages(const std::vector<Problem>& problems, const std::string& file) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(to_string(problem).substr(file.size() + 1));
  return lines;
}

class WrongConfigs : public ::testing::TestWithParam<WrongConfig> {};

TEST_P(WrongConfigs, AreRefusedWithEveryProblemAtItsPlace) {
  const auto loaded = parse(GetParam().yaml, "f.yaml");
  EXPECT_FALSE(loaded.config.has_value());
  EXPECT_THAT(messages(loaded.problems, "f.yaml"), ::testing::ElementsAreArray(GetParam().problems));
  EXPECT_TRUE(lint(loaded, "f.yaml").errors);
}

TEST_P(WrongConfigs, DoNotWeakenARunningSet) {
  const std::string file = ::testing::TempDir() + "wrong_" + GetParam().name + ".yaml";
  std::ofstream(file) << kGood;
  const auto first = load(file);
  ASSERT_TRUE(first.config) << to_string(first.problems.at(0));
  const auto running = std::make_shared<const Config>(*first.config);
  Snapshot snapshot(running);
  std::ofstream(file) << GetParam().yaml;

  const ReloadResult result = snapshot.reload();

  EXPECT_TRUE(result.refused);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(messages(result.problems, file), GetParam().problems);
  EXPECT_EQ(snapshot.get(), running);
  EXPECT_EQ(snapshot.get()->policies.at(0)->limits.at(0).limit, 5);
}

INSTANTIATE_TEST_SUITE_P(All, WrongConfigs, ::testing::ValuesIn(read_rows()),
                         [](const auto& row) { return row.param.name; });

TEST(WrongConfigRows, AreAllThere) {
  EXPECT_GE(read_rows().size(), 60u);
  EXPECT_TRUE(std::ranges::none_of(read_rows(), [](const auto& row) { return row.problems.empty(); }));
}

}  // namespace
}  // namespace dripgate::config
