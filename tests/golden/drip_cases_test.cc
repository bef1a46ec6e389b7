// The .drip cases: bookings and firings of one key on every store, with timers that fire when the text says.
#include <map>
#include <queue>

#include <gtest/gtest.h>

#include "config/config.h"
#include "golden/case_file.h"
#include "golden/golden_backends.h"
#include "support/virtual_time.h"

namespace dripgate::golden {
namespace {

core::BookingPolicyPtr booking_of(const std::string& body) {
  const std::string text =
      "streams:\n  - id: s\n    source: { embedded: in }\n    key: \"k\"\n    overflowTopic: over\n"
      "    deadLetterTopic: dead\n    deliver: { topic: out }\n" +
      body;
  auto loaded = config::parse(text, "case");
  for (const auto& problem : loaded.problems) {
    if (!problem.warning) throw std::runtime_error(config::to_string(problem) + "\n" + text);
  }
  return loaded.config->streams.at(0).stream->booking;
}

constexpr long kTogether = 1000;  // reservations asked for at once

struct Planned {
  core::ReserveOutcome outcome{};
  WallTime slot;
};

struct Firing {
  WallTime at;
  std::uint64_t order;
  store::Ticket ticket;
  bool operator>(const Firing& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
};

struct Lateness {
  WallTime from;
  WallTime to;
  Duration by;
};

class DripCase : public ::testing::TestWithParam<std::tuple<std::string, testing::Backend>> {
 protected:
  void SetUp() override {
    file_ = read_case(std::get<0>(GetParam()));
    policy_ = booking_of(file_.yaml);
  }

  template <class T, class Call>
  T answer(Call call) {
    auto kept = testing::ask<T>(*under_, std::move(call));
    if (!kept) throw std::runtime_error(kept.error().detail);
    return *std::move(kept);
  }

  void schedule(store::Ticket ticket) {
    WallTime at = ticket.slot;
    for (const auto& late : late_) {
      if (ticket.slot >= late.from && ticket.slot < late.to) at += late.by;
    }
    firings_.push({at, order_++, std::move(ticket)});
  }

  /// As many events at once: on Redis they travel together.
  void reserve(long count, core::Units cost) {
    std::vector<std::optional<Result<core::ReserveAnswer>>> answers(static_cast<std::size_t>(count));
    store::BookingStore& bookings = under_->bookings();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      store::ReserveRequest request;
      request.key = "s:k";
      request.event_id = "e" + std::to_string(planned_.size() + i);
      request.cost = cost;
      request.policy = policy_;
      bookings.reserve(std::move(request),
                       [&answers, i](Result<core::ReserveAnswer> got) { answers[i] = std::move(got); });
    }
    for (const auto& got : answers) {
      while (!got && under_->run_one()) {
      }
      if (!got || !*got) throw std::runtime_error(got ? got->error().detail : "no answer");
      planned(**got, cost);
    }
    under_->settle();
  }

  void planned(const core::ReserveAnswer& got, core::Units cost) {
    const std::string id = "e" + std::to_string(planned_.size());
    planned_.push_back({got.outcome, got.slot});
    if (got.outcome == core::ReserveOutcome::now) released_.push_back({got.slot, cost});
    if (got.outcome == core::ReserveOutcome::at) {
      schedule({.key = "s:k",
                .event_id = id,
                .generation = got.generation,
                .slot = got.slot,
                .cost = cost,
                .first_received = got.first_received});
    }
    if (got.outcome == core::ReserveOutcome::beyond_horizon ||
        got.outcome == core::ReserveOutcome::impossible)
      ++dead_;
  }

  void fire(const Firing& firing) {
    clock_.set(std::max(clock_.now(), firing.at));
    const auto got = answer<core::GateAnswer>(
        [&](auto done) { under_->bookings().gate({firing.ticket, policy_}, std::move(done)); });
    if (got.outcome == core::GateOutcome::go) {
      released_.push_back({got.slot, firing.ticket.cost});
    } else if (got.outcome == core::GateOutcome::rebook) {
      ++moves_;
      auto next = firing.ticket;
      next.slot = got.slot;
      next.generation = got.generation;
      schedule(std::move(next));
    } else {
      ++dead_;
    }
  }

  void run_until(WallTime end) {
    while (!firings_.empty() && firings_.top().at <= end) {
      const Firing firing = firings_.top();
      firings_.pop();
      fire(firing);
    }
    clock_.set(std::max(clock_.now(), end));
  }

  /// "12:00:00=100 12:01:00=100": every window that is not empty must be named.
  void expect_windows(const std::vector<std::string>& words,
                      const std::vector<std::pair<WallTime, core::Units>>& list) {
    const Duration window = span_of(words.at(2));
    std::map<WallTime, core::Units> counted;
    for (const auto& [at, units] : list) counted[at - at.time_since_epoch() % window] += units;
    std::map<WallTime, core::Units> expected;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      expected[instant_of(words[i].substr(0, equals), day_)] = std::stoll(words[i].substr(equals + 1));
    }
    EXPECT_EQ(counted, expected);
  }

  void expect_slot(const std::vector<std::string>& words) {
    const Planned& planned = planned_.at(std::stoul(words.at(2)));
    using Outcome = core::ReserveOutcome;
    const std::map<std::string, Outcome> named{
        {"now", Outcome::now}, {"beyond", Outcome::beyond_horizon}, {"impossible", Outcome::impossible}};
    if (const auto it = named.find(words.at(3)); it != named.end()) {
      EXPECT_EQ(planned.outcome, it->second);
    } else {
      EXPECT_TRUE(planned.outcome == Outcome::at || planned.outcome == Outcome::now);
      EXPECT_EQ(planned.slot, instant_of(words[3], day_));
    }
  }

  void expect_number(const std::string& what, long long number) {
    if (what == "moves") {
      EXPECT_EQ(moves_, number);
    } else if (what == "dead") {
      EXPECT_EQ(dead_, number);
    } else if (what == "pending") {
      const auto view = answer<core::KeyView>(
          [&](auto done) { under_->bookings().inspect("s:k", policy_, std::move(done)); });
      EXPECT_EQ(view.pending, number);
    } else {
      FAIL() << "unknown expectation '" << what << "'";
    }
  }

  void expect(const std::vector<std::string>& words) {
    if (words[1] == "planned") {
      std::vector<std::pair<WallTime, core::Units>> list;
      for (const auto& planned : planned_) {
        if (planned.outcome == core::ReserveOutcome::now || planned.outcome == core::ReserveOutcome::at) {
          list.emplace_back(planned.slot, 1);
        }
      }
      expect_windows(words, list);
    } else if (words[1] == "released") {
      expect_windows(words, released_);
    } else if (words[1] == "slot") {
      expect_slot(words);
    } else if (words[1] == "last") {
      WallTime last = kLongAgo;
      for (const auto& release : released_) last = std::max(last, release.first);
      EXPECT_EQ(last, instant_of(words.at(2), day_));
    } else if (words[1] == "worst") {  // expect worst 60s 102
      expect_worst(span_of(words.at(2)), std::stoll(words.at(3)));
    } else if (words[1] == "fullest") {  // expect fullest 60s 100
      expect_fullest(span_of(words.at(2)), std::stoll(words.at(3)));
    } else {
      expect_number(words[1], std::stoll(words.at(2)));
    }
  }

  /// No aligned window holds more than this, and one holds exactly this.
  void expect_fullest(Duration window, core::Units units) {
    std::map<WallTime, core::Units> counted;
    for (const auto& [at, cost] : released_) counted[at - at.time_since_epoch() % window] += cost;
    core::Units fullest = 0;
    for (const auto& [start, count] : counted) fullest = std::max(fullest, count);
    EXPECT_EQ(fullest, units);
  }

  void expect_worst(Duration span, core::Units units) {
    auto sorted = released_;
    std::ranges::sort(sorted);
    core::Units worst = 0;
    core::Units inside = 0;
    for (std::size_t first = 0, last = 0; last < sorted.size(); ++last) {
      inside += sorted[last].second;
      while (sorted[first].first <= sorted[last].first - span) inside -= sorted[first++].second;
      worst = std::max(worst, inside);
    }
    EXPECT_EQ(worst, units);
  }

  void perform(const Line& line) {
    const auto& words = line.words;
    if (words[0] == "at") {
      run_until(day_ = instant_of(words.at(1), day_));
    } else if (words[0] == "run") {
      run_until(instant_of(words.at(2), day_));
    } else if (words[0] == "reserve") {
      const core::Units cost = words.size() > 3 ? std::stoll(words[3]) : 1;
      for (long left = std::stol(words.at(1)); left > 0; left -= kTogether)
        reserve(std::min(left, kTogether), cost);
    } else if (words[0] == "reload") {
      policy_ = booking_of(file_.reloads.at(reload_++));
    } else if (words[0] == "freeze") {
      answer<bool>([&](auto done) {
        under_->bookings().freeze("s:k", instant_of(words.at(2), day_),
                                  [&](Result<void> result) { done(result.has_value()); });
      });
    } else if (words[0] == "empty") {
      under_->empty();
    } else if (words[0] == "late") {
      late_.push_back({instant_of(words.at(1), day_), instant_of(words.at(2), day_), span_of(words.at(4))});
    } else if (words[0] == "expect") {
      expect(words);
    } else {
      FAIL() << "unknown command";
    }
  }

  CaseFile file_;
  core::BookingPolicyPtr policy_;
  testing::VirtualClock clock_{kLongAgo};
  std::unique_ptr<testing::StoreUnderTest> under_ = std::get<1>(GetParam()).make(clock_);
  WallTime day_;
  std::vector<Planned> planned_;
  std::vector<std::pair<WallTime, core::Units>> released_;
  std::vector<Lateness> late_;
  std::priority_queue<Firing, std::vector<Firing>, std::greater<>> firings_;
  std::uint64_t order_ = 0;
  std::size_t reload_ = 0;
  long long moves_ = 0;
  long long dead_ = 0;
};

TEST_P(DripCase, HappensAsTheTextSays) {
  for (const auto& line : file_.lines) {
    SCOPED_TRACE(file_.path + ":" + std::to_string(line.number) + ": " + line.text);
    if (&line == &file_.lines.front()) {  // the first line sets the clock; nothing may fire before it
      ASSERT_EQ(line.words[0], "at");
      clock_.set(instant_of(line.words.at(1), day_));
    }
    perform(line);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, DripCase,
                         ::testing::Combine(::testing::ValuesIn(case_paths(".drip")),
                                            ::testing::ValuesIn(golden_backends())),
                         [](const auto& info) {
                           return case_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace dripgate::golden
