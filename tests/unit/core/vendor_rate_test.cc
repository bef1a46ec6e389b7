// How much of a vendor's quota many workers get, and how often it refuses them: the shared bucket, a vendor
// with an aligned window and the ways between them, on virtual time.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <random>

#include <gtest/gtest.h>

#include "core/vendor_bucket.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kT0{Duration{1'800'000'000'000'000}};

struct Play {
  Units configured = 50;
  Units real = 50;      // of the vendor, per second of its clock
  Units outside = 0;    // calls per second of somebody else, evenly
  bool reports = true;  // the vendor says what is left
  bool always = false;  // it refuses whatever comes, and says nothing
  int workers = 160;
  Duration way = 20ms;  // to the store, to the vendor and back: half of it to twice of it each
  Duration skew{};      // of the vendor's clock
  Duration nap = 1h;    // a worker waits no longer than this
  Duration span = 20s;
  Duration first{};  // until all begin, at once; 0: each within the first 200 ms
  unsigned seed = 1;
};

struct Outcome {
  std::map<std::int64_t, Units> served;  // by second
  std::map<std::int64_t, Units> refused;
  int acquires = 0;

  [[nodiscard]] static Units sum(const std::map<std::int64_t, Units>& all, std::int64_t from = 0) {
    Units units = 0;
    for (auto at = all.lower_bound(from); at != all.end(); ++at) units += at->second;
    return units;
  }
};

class Rate {
 public:
  explicit Rate(const Play& play) : play_(play), random_(play.seed) {
    policy_.limits = {{.algorithm = Algorithm::fixed_window,
                       .limit = play.configured,
                       .window = 1s,
                       .capacity = play.configured,
                       .zone = nullptr}};
  }

  Outcome run() {
    for (int i = 0; i < play_.workers; ++i)
      after(play_.first > 0s ? play_.first : Duration{draw(200'000)}, [this] { ask(); });
    if (play_.outside > 0) after(Duration{3'000}, [this] { intrude(); });
    while (!events_.empty() && events_.top().at < kT0 + play_.span) {
      Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.run();
    }
    return std::move(outcome_);
  }

 private:
  struct Event {
    WallTime at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Answer {
    bool served = false;
    Units left = 0;
    Duration reset{};
  };

  std::int64_t draw(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }
  Duration way() { return play_.way / 2 + Duration{draw(play_.way.count() * 3 / 2)}; }
  void after(Duration wait, std::function<void()> run) {
    events_.push({.at = now_ + wait, .order = order_++, .run = std::move(run)});
  }

  void ask() {
    after(way(), [this] {
      ++outcome_.acquires;
      const VendorGrant grant = acquire(state_, policy_, {1}, now_).value();
      const Duration back = way();
      if (!grant.allowed) {
        // As over HTTP: whole milliseconds, rounded up.
        const Duration wait = std::chrono::ceil<std::chrono::milliseconds>(grant.retry_after);
        return after(back + std::min(wait, play_.nap), [this] { ask(); });
      }
      after(back + way(), [this, permit = grant.permit] {
        const Answer answer = vendor(true);
        after(way() + way(), [this, permit, answer] { tell(permit, answer); });
      });
    });
  }

  void tell(PermitId permit, const Answer& answer) {
    VendorObservation seen;
    seen.permit = permit;
    seen.verdict = answer.served ? VendorVerdict::answered : VendorVerdict::refused;
    if (!answer.served && !play_.always) seen.freeze = std::chrono::ceil<std::chrono::seconds>(answer.reset);
    if (play_.reports) {
      seen.limits[0] = {.remaining = answer.left,
                        .hold = std::chrono::ceil<std::chrono::seconds>(answer.reset),
                        .resolution = 1s};
    }
    (void)observe(state_, policy_, seen, now_).value();
    after(way(), [this] { ask(); });
  }

  Answer vendor(bool ours) {
    const Duration here = (now_ - kT0) + play_.skew;
    const std::int64_t window = here / 1s;
    if (window != window_) used_ = 0;
    window_ = window;
    Answer answer{
        .served = used_ < play_.real && !play_.always, .left = 0, .reset = 1s * (window + 1) - here};
    used_ += answer.served;
    answer.left = play_.real - used_;
    if (ours) ++(answer.served ? outcome_.served : outcome_.refused)[window];
    return answer;
  }
  void intrude() {
    (void)vendor(false);
    after(Duration{1s} / play_.outside, [this] { intrude(); });
  }

  Play play_;
  std::mt19937_64 random_;
  VendorPolicy policy_;
  VendorState state_;
  WallTime now_ = kT0;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  std::int64_t window_ = 0;
  Units used_ = 0;
  Outcome outcome_;
};

/// Of the vendor's real quota, in percent.
double share(const Outcome& outcome, const Play& play) {
  return 100.0 * static_cast<double>(Outcome::sum(outcome.served)) /
         static_cast<double>(play.real * (play.span / 1s));
}

void each_seed_and_way(Play play, const std::function<void(const Outcome&, const std::string&)>& judge) {
  for (const Duration way : {Duration{2ms}, Duration{10ms}, Duration{30ms}}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      play.way = way;
      play.seed = seed;
      judge(Rate(play).run(), "way " + std::to_string(way / 1ms) + " ms, seed " + std::to_string(seed));
    }
  }
}

TEST(VendorRate, TheRightLimitIsUsedUpWithoutARefusal) {
  for (const bool reports : {true, false}) {
    const Play play{.reports = reports};
    each_seed_and_way(play, [&](const Outcome& outcome, const std::string& what) {
      EXPECT_EQ(Outcome::sum(outcome.refused), 0) << what;
      EXPECT_GE(share(outcome, play), 96) << what;
    });
  }
}

TEST(VendorRate, ALimitAFifthTooHighIsLoweredToTheVendorsInEveryWindow) {
  const Play play{.configured = 60};
  each_seed_and_way(play, [&](const Outcome& outcome, const std::string& what) {
    EXPECT_LE(Outcome::sum(outcome.refused), 3) << what;
    EXPECT_GE(share(outcome, play), 95) << what;
  });
}

TEST(VendorRate, WhoWaitsComesAboutOncePerCallAndAnImpatientOneNotMoreThanHeMust) {
  const Play patient{.way = 5ms};
  EXPECT_LE(Rate(patient).run().acquires, 3 * 50 * 20);
  Play hurried = patient;
  hurried.nap = 1s;
  const Outcome outcome = Rate(hurried).run();
  EXPECT_LE(outcome.acquires, 160 * 20 + 3 * 50 * 20);
  EXPECT_GE(share(outcome, hurried), 95);
}

TEST(VendorRate, AnOutsideCallerOfHalfTheQuotaIsLeftHisHalf) {
  Play play{.outside = 25, .way = 5ms};
  for (play.seed = 1; play.seed <= 5; ++play.seed) {
    const Outcome outcome = Rate(play).run();
    EXPECT_LE(Outcome::sum(outcome.refused, 2), 3) << play.seed;
    const Units ours = Outcome::sum(outcome.served, 2);
    EXPECT_GE(ours, 25 * 18 * 8 / 10) << play.seed;
    EXPECT_LE(ours, 50 * 18 * 7 / 10) << play.seed;
  }
}

TEST(VendorRate, AVendorThatAlwaysRefusesIsAskedEightTimesInTenSecondsByFiveWorkersAtOnce) {
  for (const int workers : {1, 2, 3, 4, 5, 8, 20}) {
    const Play play{.reports = false, .always = true, .workers = workers, .span = 10s, .first = 500ms};
    each_seed_and_way(play, [&](const Outcome& outcome, const std::string& what) {
      EXPECT_LE(Outcome::sum(outcome.refused), std::max(8, workers + 3)) << workers << " workers, " << what;
    });
  }
}

}  // namespace
}  // namespace dripgate::core
