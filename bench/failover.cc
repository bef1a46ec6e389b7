// Failover: what a store that does not answer costs its callers, against a bare timer of the same run. A
// paused, a killed and a slow Redis; keys of another server meanwhile; how soon the store is back.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "compare.h"
#include "integration_redis/failover_site.h"

namespace dripgate::bench {
namespace {

using core::FailureMode;
using testing::FailoverSite;
using namespace std::chrono_literals;

constexpr Duration kDeadline = 5ms;
constexpr int kRounds = 20;
constexpr int kTogether = 100;    // calls in flight when the server stops answering, and as many timers
constexpr int kWhileOpen = 2000;  // calls after the breaker opened, per round
constexpr int kElsewhere = 100;   // calls on the other server, per round, before and meanwhile
constexpr int kLongEvery = 5;  // one outage in so many lasts until reconnects and probes are at their rarest
constexpr Duration kLongOutage = 3s;

double ms_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}
double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

/// All in milliseconds.
struct Measured {
  std::vector<double> timers, until_open, while_open, other_before, other_meanwhile, recovery;
  int degraded_before = 0, degraded_meanwhile = 0;  // on the other server
};

bool healthy(FailoverSite& site) {
  const auto decision = site.decide({FailoverSite::charge("a", FailureMode::open)});
  return decision && !decision->degraded();
}

/// Calls on the server that fails and bare timers, begun in turns, all in one loop.
void race(FailoverSite& site, Measured& into) {
  int waiting = 0;
  for (int i = 0; i < kTogether; ++i) {
    const auto began = std::chrono::steady_clock::now();
    waiting += 2;
    const auto timer = [&, began] {
      into.timers.push_back(ms_since(began));
      --waiting;
    };
    const auto call = [&, began](const Result<core::Decision>&) {
      into.until_open.push_back(ms_since(began));
      --waiting;
    };
    if (i % 2 == 0) site.loop.post_after(kDeadline, timer);
    site.store->consume({FailoverSite::charge("a", FailureMode::open)}, call);
    if (i % 2 == 1) site.loop.post_after(kDeadline, timer);
  }
  site.until([&] { return waiting == 0; });
}

void ask_other(FailoverSite& site, std::vector<double>& into, int& degraded) {
  for (int i = 0; i < kElsewhere; ++i) {
    bool answered = false;
    const auto began = std::chrono::steady_clock::now();
    site.store->consume({FailoverSite::charge("b", FailureMode::open)}, [&](Result<core::Decision> decision) {
      into.push_back(ms_since(began));
      degraded += decision && !decision->degraded() ? 0 : 1;
      answered = true;
    });
    site.until([&] { return answered; });
  }
}

void play(FailoverSite& site, const std::function<void()>& begin, const std::function<void()>& end,
          Measured& into) {
  for (int round = 0; round < kRounds; ++round) {
    site.until([&] { return healthy(site); });
    ask_other(site, into.other_before, into.degraded_before);
    begin();
    race(site, into);
    site.until([&] {
      site.decide({FailoverSite::charge("a", FailureMode::open)});
      return site.breaker(0) != core::Breaker::State::closed;
    });
    for (int i = 0; i < kWhileOpen; ++i) {
      const auto began = std::chrono::steady_clock::now();
      site.decide({FailoverSite::charge("a", FailureMode::local)});
      into.while_open.push_back(ms_since(began));
    }
    ask_other(site, into.other_meanwhile, into.degraded_meanwhile);
    if (round % kLongEvery == 0) site.loop.run_for(kLongOutage);
    end();
    const auto back = std::chrono::steady_clock::now();
    site.until([&] { return healthy(site); });
    into.recovery.push_back(ms_since(back));
  }
}

void report(Comparison& table, const std::string& name, const Measured& m) {
  const double timer = percentile(m.timers, 0.99);
  const double calls = percentile(m.until_open, 0.99);
  std::printf("%s: bare 5 ms timer p50 %.2f p99 %.2f ms; call until it opens p50 %.2f p99 %.2f ms\n",
              name.c_str(), percentile(m.timers, 0.5), timer, percentile(m.until_open, 0.5), calls);
  std::printf("%s: other server p50 %.3f p99 %.2f ms before, p50 %.3f p99 %.2f ms meanwhile\n", name.c_str(),
              percentile(m.other_before, 0.5), percentile(m.other_before, 0.99),
              percentile(m.other_meanwhile, 0.5), percentile(m.other_meanwhile, 0.99));
  table.judge(name + ": call until it opens - bare timer, p99", calls - timer, 1.0, "ms");
  table.judge(name + ": call while open, p99", percentile(m.while_open, 0.99), 0.2, "ms");
  table.judge(name + ": back after, longest", percentile(m.recovery, 1.0), 1000, "ms");
  table.judge(name + ": other server meanwhile / before, p50",
              percentile(m.other_meanwhile, 0.5) / percentile(m.other_before, 0.5), 1.5, "x");
  // A busy machine lets a healthy server miss 5 ms now and then: before as meanwhile.
  table.judge(name + ": degraded on the other server, meanwhile - before",
              100.0 * (m.degraded_meanwhile - m.degraded_before) / (kRounds * kElsewhere), 1.0, "%");
}

int run(int argc, char** argv) {
  Comparison table("failover", argc, argv);
  FailoverSite site(kDeadline);
  Measured paused, killed, slow;
  play(site, [&] { site.first.pause(); }, [&] { site.first.resume(); }, paused);
  play(site, [&] { site.first.kill(); }, [&] { site.first.restart(); }, killed);
  play(site, [&] { site.proxy.delay(20ms); }, [&] { site.proxy.delay(0ms); }, slow);
  report(table, "paused", paused);
  report(table, "killed", killed);
  report(table, "slow", slow);
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
