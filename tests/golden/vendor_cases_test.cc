// The .vendor cases: a vendor's answers and what they change, on every store: acquire, observe, and workers
// that call as long as they may.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "config/config.h"
#include "golden/case_file.h"
#include "golden/golden_backends.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"
#include "vendor/vendors.h"

namespace dripgate::golden {
namespace {

using testing::kT0;
using Words = std::vector<std::string>;

core::VendorPtr vendor_of(const std::string& body) {
  const std::string text = "vendors:\n  - id: v\n    onStoreFailure: closed\n" + body;
  auto loaded = config::parse(text, "case");
  for (const auto& problem : loaded.problems) {
    if (!problem.warning) throw std::runtime_error(config::to_string(problem) + "\n" + text);
  }
  return loaded.config->vendors.at(0);
}

/// "X-RateLimit-Reset: 40" of a line "> X-RateLimit-Reset: 40".
std::pair<std::string, std::string> header_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t name = text.find_first_not_of("> ");
  return {text.substr(name, colon - name), text.substr(std::min(text.size(), colon + 2))};
}

/// The store as it is now: a backend is asked for it anew for each call.
class StoreOfNow final : public store::VendorStore {
 public:
  explicit StoreOfNow(testing::StoreUnderTest& under) : under_(under) {}
  void acquire(store::VendorAcquire call, Done<core::VendorGrant> done) override {
    under_.vendors().acquire(std::move(call), std::move(done));
  }
  void observe(store::VendorObserve call, Done<core::VendorEffect> done) override {
    under_.vendors().observe(std::move(call), std::move(done));
  }
  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override {
    under_.vendors().inspect(std::move(key), std::move(policy), std::move(done));
  }
  void reset(std::string key, Done<void> done) override {
    under_.vendors().reset(std::move(key), std::move(done));
  }

 private:
  testing::StoreUnderTest& under_;
};

class VendorCase : public ::testing::TestWithParam<std::tuple<std::string, testing::Backend>>,
                   private vendor::Observer {
 protected:
  void SetUp() override {
    file_ = read_case(std::get<0>(GetParam()));
    vendor_ = vendor_of(file_.yaml);
    start();
  }
  /// A process that knows nothing but the store.
  void start() {
    local_ = store::make_memory_vendor_store(local_clock_);
    vendors_ = std::make_unique<vendor::Vendors>(
        vendor::VendorsContext{.vendors = [this] { return std::vector{vendor_}; },
                               .store = store_,
                               .local = *local_,
                               .instances = [] { return 1; },
                               .clock = local_clock_,
                               .observer = *this});
  }
  void at(Duration since_t0) {
    clock_.set(kT0 + since_t0);
    local_clock_.set(kT0 + since_t0 + ahead_);
  }

  /// What a call names: attributes of the key, and by "cost D=N" what it takes.
  struct Named {
    core::Descriptor attributes;
    vendor::Costs costs;
    std::string reason;
  };
  static Named named(const Words& words, std::size_t from) {
    Named out;
    bool cost = false;
    for (std::size_t i = from; i < words.size() && words[i] != "->"; ++i) {
      if (words[i] == "cost") {
        cost = true;
      } else if (words[i] == "reason") {  // to the arrow
        while (words.at(i + 1) != "->") out.reason += (out.reason.empty() ? "" : " ") + words[++i];
      } else {
        const std::size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        const std::string value = words[i].substr(equals + 1);
        cost ? void(out.costs[name] = std::stoll(value)) : void(out.attributes[name] = value);
      }
    }
    return out;
  }

  vendor::Acquired ask(const Named& call) {
    auto answer = testing::ask<vendor::Acquired>(*under_, [&](auto done) {
      vendors_->acquire({.vendor = "v", .attributes = call.attributes, .costs = call.costs}, std::move(done));
    });
    if (!answer) throw std::runtime_error(answer.error().detail);
    return *answer;
  }
  vendor::Observed tell(const Named& call, int status, const vendor::AnswerHeaders& headers,
                        const std::string& id = {}) {
    auto answer = testing::ask<vendor::Observed>(*under_, [&](auto done) {
      vendors_->observe({.vendor = "v",
                         .attributes = call.attributes,
                         .id = id,
                         .answer = {.status = status, .headers = headers, .reason = call.reason},
                         .sent = {},
                         .actual = {}},
                        std::move(done));
    });
    if (!answer) throw std::runtime_error(answer.error().detail);
    return *answer;
  }

  /// "-> allow", "-> wait 1.5s", "-> impossible", "-> 3 allowed" of the Nx; then "left N".
  void acquire(const Words& words, std::size_t from, const Words& expected) {
    int repeat = 1;
    if (words.at(from).ends_with('x')) repeat = std::stoi(words[from++]);
    const Named call = named(words, from + 1);
    vendor::Acquired last;
    int allowed = 0;
    for (int i = 0; i < repeat; ++i) allowed += (last = ask(call)).allowed ? 1 : 0;
    std::size_t next = 1;
    if (expected.at(0) == "allow") {
      EXPECT_TRUE(last.allowed);
    } else if (expected[0] == "impossible") {
      EXPECT_TRUE(last.impossible);
    } else if (expected[0] == "wait") {
      EXPECT_FALSE(last.allowed);
      EXPECT_EQ(last.retry_after.count(), span_of(expected.at(next++)).count());
    } else {
      EXPECT_EQ(expected.at(next++), "allowed");
      EXPECT_EQ(allowed, std::stoi(expected[0]));
    }
    if (next < expected.size() && expected[next] == "left")
      EXPECT_EQ(last.remaining, std::stoll(expected.at(next + 1)));
  }

  /// "-> again 1.5s" or "-> at once", then the words of what was applied, each of which must be there.
  void observe(const Words& words, std::size_t from, const Words& expected) {
    const vendor::Observed seen = tell(named(words, from + 2), std::stoi(words.at(from + 1)), headers());
    if (expected.at(0) == "at") {
      EXPECT_EQ(seen.retry_after.count(), 0);
    } else {
      EXPECT_EQ(expected[0], "again");
      EXPECT_EQ(seen.retry_after.count(), span_of(expected.at(1)).count());
    }
    for (std::size_t i = 2; i < expected.size(); ++i)
      EXPECT_NE(std::ranges::find(seen.applied, expected[i]), seen.applied.end())
          << "not applied: " << expected[i];
  }

  /// "worker 10s STATUS -> at most 8": one worker that calls whenever it may, and always hears the same.
  void work(const Words& words, std::size_t from, const Words& expected) {
    const Duration end = now() + span_of(words.at(from + 1));
    const Named call = named(words, from + 3);
    int calls = 0;
    while (now() < end) {
      const vendor::Acquired acquired = ask(call);
      if (!acquired.allowed) {
        ASSERT_GT(acquired.retry_after.count(), 0);
        at(now() + acquired.retry_after);
        continue;
      }
      ++calls;
      at(now() + std::chrono::milliseconds{1});
      tell(call, std::stoi(words.at(from + 2)), headers(), acquired.id);
    }
    EXPECT_LE(calls, std::stoi(expected.at(2)));
    EXPECT_GE(calls, 2) << "it does try again";
  }

  /// "poll 10ms 1s -> 45 to 50": calls that start when everybody asks every 10 ms, for so long.
  void poll(const Words& words, std::size_t from, const Words& expected) {
    const Duration step = span_of(words.at(from + 1));
    const Duration end = now() + span_of(words.at(from + 2));
    const Named call = named(words, from + 3);
    int calls = 0;
    for (; now() < end; at(now() + step)) calls += ask(call).allowed ? 1 : 0;
    EXPECT_GE(calls, std::stoi(expected.at(0)));
    EXPECT_LE(calls, std::stoi(expected.at(2)));
  }

  [[nodiscard]] Duration now() const { return clock_.now() - kT0; }
  /// The lines "> Name: value" behind the one in hand.
  [[nodiscard]] vendor::AnswerHeaders headers() const {
    vendor::AnswerHeaders found;
    for (std::size_t i = line_ + 1; i < file_.lines.size() && file_.lines[i].words[0] == ">"; ++i)
      found.push_back(header_of(file_.lines[i].text));
    return found;
  }

  void run(const Line& line) {
    SCOPED_TRACE(file_.path + ":" + std::to_string(line.number) + ": " + line.text);
    Words words = line.words;
    if (words[0] == ">") return;
    if (words[0] == "restart") return start();
    if (words[0] == "ahead") {
      ahead_ = span_of(words.at(1));
      return at(now());
    }
    at(span_of(words[0].substr(1)));
    const auto arrow = std::ranges::find(words, "->");
    ASSERT_NE(arrow, words.end());
    const Words expected(arrow + 1, words.end());
    const std::string& verb = words.at(words[1].ends_with('x') ? 2 : 1);
    if (verb == "acquire") return acquire(words, 1, expected);
    if (verb == "observe") return observe(words, 1, expected);
    if (verb == "worker") return work(words, 1, expected);
    if (verb == "poll") return poll(words, 1, expected);
    FAIL() << "unknown word '" << verb << "'";
  }

  CaseFile file_;
  std::size_t line_ = 0;
  testing::VirtualClock clock_;
  testing::VirtualClock local_clock_;  // of the process that reads the headers
  Duration ahead_{};
  std::unique_ptr<testing::StoreUnderTest> under_ = std::get<1>(GetParam()).make(clock_);
  StoreOfNow store_{*under_};
  core::VendorPtr vendor_;
  std::unique_ptr<store::VendorStore> local_;
  std::unique_ptr<vendor::Vendors> vendors_;

 private:
  void on_acquire(const std::string&, std::string_view) override {}
  void on_observe(const std::string&, const vendor::Observed&) override {}
};

TEST_P(VendorCase, Holds) {
  for (; line_ < file_.lines.size() && !HasFatalFailure(); ++line_) run(file_.lines[line_]);
}

INSTANTIATE_TEST_SUITE_P(Cases, VendorCase,
                         ::testing::Combine(::testing::ValuesIn(case_paths(".vendor")),
                                            ::testing::ValuesIn(golden_backends())),
                         [](const auto& info) {
                           return case_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace dripgate::golden
