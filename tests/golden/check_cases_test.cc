// The .check cases: calls against one policy, on every store; the .redis cases: the same on a real Redis,
// with commands to the server in between. One line per call, the expected answer at its end.

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "config/config.h"
#include "conformance/redis_backend.h"
#include "golden/case_file.h"
#include "golden/golden_backends.h"
#include "support/virtual_time.h"

namespace dripgate::golden {
namespace {

using testing::kT0;

core::PolicyPtr policy_of(const std::string& body) {
  const std::string text = "policies:\n  - id: p\n    key: [user]\n    onStoreFailure: closed\n" + body;
  auto loaded = config::parse(text, "case");
  for (const auto& problem : loaded.problems) {
    if (!problem.warning) throw std::runtime_error(config::to_string(problem) + "\n" + text);
  }
  return loaded.config->policies.at(0);
}

class CheckCase : public ::testing::TestWithParam<std::tuple<std::string, testing::Backend>> {
 protected:
  Result<core::Decision> ask(const core::Policy& policy, const std::string& key, core::Units cost,
                             bool peek) {
    store::Charges charges;
    for (std::size_t i = 0; i < policy.limits.size(); ++i) {
      charges.push_back({"p:" + std::to_string(i) + ":" + key, policy.limits[i], cost});
    }
    return testing::ask<core::Decision>(*under_, [&](auto done) {
      store::CounterStore& counters = under_->counters();
      if (peek) return counters.peek(charges, std::move(done));
      counters.consume(charges, std::move(done));
    });
  }

  /// "allow rem 2", "deny wait 30s", "deny never", "impossible", "error corrupt": every stated word must
  /// hold.
  static void expect(const Result<core::Decision>& answer, const std::vector<std::string>& words) {
    if (words.at(0) == "error") {
      ASSERT_FALSE(answer);
      EXPECT_EQ(to_string(answer.error().code), words.at(1)) << answer.error().detail;
      return;
    }
    ASSERT_TRUE(answer) << answer.error().detail;
    const auto& outcome = answer->outcomes.at(answer->decisive);
    const char* verdict = answer->verdict == core::Verdict::allow  ? "allow"
                          : answer->verdict == core::Verdict::deny ? "deny"
                                                                   : "impossible";
    EXPECT_EQ(words.at(0), verdict);
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "rem") {
        EXPECT_EQ(outcome.remaining, std::stoll(words.at(++i)));
      } else if (words[i] == "wait") {
        ASSERT_TRUE(outcome.retry_after.has_value());
        EXPECT_EQ(outcome.retry_after->count(), span_of(words.at(++i)).count());
      } else if (words[i] == "never") {
        EXPECT_FALSE(outcome.retry_after.has_value());
      } else {
        FAIL() << "unknown word '" << words[i] << "'";
      }
    }
  }

  /// "+10s 3x call key bob cost 2 -> allow rem 1"; with "Nx" the answer is "M allowed".
  void call(const core::Policy& policy, const std::vector<std::string>& words) {
    std::size_t at = 1;
    int repeat = 1;
    if (words[at].ends_with('x')) repeat = std::stoi(words[at++]);
    const bool peek = words[at++] == "peek";
    std::string key = "k";
    core::Units cost = 1;
    for (; words.at(at) != "->"; at += 2) {
      if (words[at] == "key") key = words[at + 1];
      if (words[at] == "cost") cost = std::stoll(words[at + 1]);
    }
    const std::vector<std::string> answer(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    int allowed = 0;
    std::optional<Result<core::Decision>> last;
    for (int i = 0; i < repeat; ++i) {
      last = ask(policy, key, cost, peek);
      allowed += *last && (*last)->verdict == core::Verdict::allow ? 1 : 0;
    }
    if (answer.size() > 1 && answer[1] == "allowed") {
      EXPECT_EQ(allowed, std::stoi(answer[0]));
    } else {
      expect(*last, answer);
    }
  }

  /// "+0s redis PTTL p:0:k -> above 0": one command to the server and its reply, or between which numbers.
  void command(const std::vector<std::string>& words) {
    const auto arrow = std::ranges::find(words, "->");
    ASSERT_NE(arrow, words.end());
    const auto said = under_->ask_server({words.begin() + 2, arrow});
    ASSERT_TRUE(said) << "no server behind this store";
    const std::vector<std::string> expected(arrow + 1, words.end());
    if (expected.at(0) != "above") {
      EXPECT_EQ(*said, expected.at(0));
      return;
    }
    EXPECT_GT(std::stoll(*said), std::stoll(expected.at(1)));
    if (expected.size() > 2) EXPECT_LE(std::stoll(*said), std::stoll(expected.at(4)));  // "above 0 at most 9"
  }

  void play() {
    const auto file = read_case(std::get<0>(GetParam()));
    auto policy = policy_of(file.yaml);
    std::size_t reload = 0;
    for (const auto& line : file.lines) {
      SCOPED_TRACE(file.path + ":" + std::to_string(line.number) + ": " + line.text);
      if (line.words[0] == "reload") {
        policy = policy_of(file.reloads.at(reload++));
        continue;
      }
      clock_.set(kT0 + span_of(line.words[0]));
      if (line.words.at(1) == "redis") {
        command(line.words);
      } else {
        call(*policy, line.words);
      }
      if (HasFatalFailure()) return;
    }
  }

  testing::VirtualClock clock_;
  std::unique_ptr<testing::StoreUnderTest> under_ = std::get<1>(GetParam()).make(clock_);
};

TEST_P(CheckCase, AnswersAsTheTextSays) {
  play();
}

INSTANTIATE_TEST_SUITE_P(Golden, CheckCase,
                         ::testing::Combine(::testing::ValuesIn(case_paths(".check")),
                                            ::testing::ValuesIn(golden_backends())),
                         [](const auto& info) {
                           return case_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
                         });
INSTANTIATE_TEST_SUITE_P(GoldenOnRedis, CheckCase,
                         ::testing::Combine(::testing::ValuesIn(case_paths(".redis")),
                                            ::testing::Values(testing::redis_backend())),
                         [](const auto& info) { return case_name(std::get<0>(info.param)); });

}  // namespace
}  // namespace dripgate::golden
