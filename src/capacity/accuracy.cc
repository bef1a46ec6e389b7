#include "capacity/accuracy.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "capacity/bench.h"
#include "capacity/drive.h"

namespace dripgate::capacity {
namespace {

constexpr const char* kKey = "rl:{t:accuracy}:api:k:one";

/// Nothing comes back while it is measured: the bucket refills a unit every 86 s, and kPhaseMax is shorter.
core::Limit limit_of(core::Algorithm algorithm) {
  const bool bucket = algorithm == core::Algorithm::token_bucket;
  return {.algorithm = algorithm,
          .limit = kAccuracyLimit,
          .window = std::chrono::hours{bucket ? 24 : 1},
          .capacity = kAccuracyLimit,
          .zone = nullptr};
}

struct Tally {
  core::Limit limit;
  std::uint64_t begun = 0, ended = 0, failed = 0;
  std::map<std::int64_t, core::Units> admitted;  // by aligned window
  std::function<void(std::size_t)> next;

  void count(const Result<core::Decision>& decision) {
    ++ended;
    if (!decision) {
      ++failed;
    } else if (decision->verdict == core::Verdict::allow) {
      const bool aligned = limit.algorithm == core::Algorithm::fixed_window;
      ++admitted[aligned ? to_us(decision->now) / limit.window.count() : 0];
    }
  }
};

void reset(net::IoLoop& loop, store::CounterStore& store) {
  auto done = std::make_shared<bool>(false);
  store.reset(kKey, [done](const Result<void>&) { *done = true; });
  (void)drive(loop, [&] { return *done; }, 2 * kCallTimeout);
}

std::shared_ptr<Tally> ask_all(net::IoLoop& loop, Connections& sites, std::size_t clients,
                               core::Limit limit) {
  auto tally = std::make_shared<Tally>();
  tally->limit = std::move(limit);
  tally->next = [&sites, weak = std::weak_ptr(tally)](std::size_t client) {
    const auto held = weak.lock();
    if (!held || held->begun == kAccuracyAsked) return;
    ++held->begun;
    store::Charges charges;
    charges.push_back({.key = kKey, .limit = held->limit});
    sites.store(client).consume(std::move(charges), [held, client](const Result<core::Decision>& decision) {
      held->count(decision);
      held->next(client);
    });
  };
  for (std::size_t client = 0; client < clients; ++client) tally->next(client);
  (void)drive(loop, [&] { return tally->ended == kAccuracyAsked; }, kPhaseMax);
  return tally;
}

}  // namespace

Accuracy measure_accuracy(net::IoLoop& loop, Connections& sites, std::size_t clients,
                          core::Algorithm algorithm) {
  constexpr int kRunsMax = 2;  // an hour that ends meanwhile is followed by one that does not
  std::shared_ptr<Tally> tally;
  for (int run = 0; run < kRunsMax; ++run) {
    reset(loop, sites.store(0));
    tally = ask_all(loop, sites, clients, limit_of(algorithm));
    if (tally->admitted.size() <= 1) break;
  }
  reset(loop, sites.store(0));
  Accuracy accuracy{.algorithm = algorithm,
                    .limit = kAccuracyLimit,
                    .asked = tally->ended,
                    .failed = tally->failed + (tally->begun - tally->ended)};
  for (const auto& [window, admitted] : tally->admitted)
    accuracy.admitted = std::max(accuracy.admitted, admitted);
  return accuracy;
}

}  // namespace dripgate::capacity
