// The .check cases: calls against one policy, on every store. One line per call, the expected answer at its
// end.
#include <optional>

#include <gtest/gtest.h>

#include "config/config.h"
#include "golden/case_file.h"
#include "sqlite/database.h"
#include "store/memory/stores.h"
#include "store/sqlite/stores.h"
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

class CheckCase : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    const bool durable = std::get<1>(GetParam());
    if (durable) {
      database_ = std::move(sqlite::Database::open(":memory:").value());
      store_ = store::make_sqlite_counter_store(*database_, clock_);
    } else {
      store_ = store::make_memory_counter_store(clock_, 1000);
    }
  }

  core::Decision ask(const core::Policy& policy, const std::string& key, core::Units cost, bool peek) {
    store::Charges charges;
    for (std::size_t i = 0; i < policy.limits.size(); ++i) {
      charges.push_back({"p:" + std::to_string(i) + ":" + key, policy.limits[i], cost});
    }
    std::optional<core::Decision> answer;
    auto keep = [&](Result<core::Decision> decision) {
      ASSERT_TRUE(decision) << decision.error().detail;
      answer = *decision;
    };
    if (peek) {
      store_->peek(charges, keep);
    } else {
      store_->consume(charges, keep);
    }
    if (database_) EXPECT_TRUE(database_->end_turn());
    return answer.value();
  }

  /// "allow rem 2", "deny wait 30s", "deny never", "impossible": every stated word must hold.
  static void expect(const core::Decision& decision, const std::vector<std::string>& words) {
    const auto& outcome = decision.outcomes.at(decision.decisive);
    const char* verdict = decision.verdict == core::Verdict::allow  ? "allow"
                          : decision.verdict == core::Verdict::deny ? "deny"
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
    core::Decision last;
    for (int i = 0; i < repeat; ++i) {
      last = ask(policy, key, cost, peek);
      allowed += last.verdict == core::Verdict::allow ? 1 : 0;
    }
    if (answer.size() > 1 && answer[1] == "allowed") {
      EXPECT_EQ(allowed, std::stoi(answer[0]));
    } else {
      expect(last, answer);
    }
  }

  testing::VirtualClock clock_;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<store::CounterStore> store_;
};

TEST_P(CheckCase, AnswersAsTheTextSays) {
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
    call(*policy, line.words);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CheckCase,
                         ::testing::Combine(::testing::ValuesIn(case_paths(".check")), ::testing::Bool()),
                         [](const auto& info) {
                           return case_name(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_sqlite" : "_memory");
                         });

}  // namespace
}  // namespace dripgate::golden
