// Series of the gate: counted per request, so that every counter is looked up in one small table.
#include "obs/gate_metrics.h"

#include <map>
#include <mutex>
#include <set>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/limits.h"

namespace dripgate::obs {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// Seconds: memory answers in the first two, Redis below 5 ms, a timeout behind it.
const Histogram::BucketBoundaries kTookSeconds{0.00001, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                               0.01,    0.025,  0.05,    0.1,    0.25,  1};

/// Counters of a family under two labels, found without making a text.
class CountersByPair {
 public:
  CountersByPair(Family<Counter>& family, std::string first, std::string second)
      : family_(family), first_(std::move(first)), second_(std::move(second)) {}

  Counter& at(std::string_view first, std::string_view second) {
    const std::scoped_lock lock(mutex_);
    const auto row = counters_.find(first);
    if (row != counters_.end()) {
      if (const auto cell = row->second.find(second); cell != row->second.end()) return *cell->second;
    }
    const bool full = row == counters_.end() && counters_.size() >= kMetricLabelsMax;
    const std::string shown(full ? std::string_view("other") : first);
    Counter& counter = family_.Add({{first_, shown}, {second_, std::string(second)}});
    counters_[shown][std::string(second)] = &counter;
    return counter;
  }

  /// The label that `first` goes by.
  std::string shown(std::string_view first) {
    const std::scoped_lock lock(mutex_);
    const bool known = counters_.contains(first) || counters_.size() < kMetricLabelsMax;
    return std::string(known ? first : std::string_view("other"));
  }

 private:
  Family<Counter>& family_;
  const std::string first_;
  const std::string second_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Counter*, std::less<>>, std::less<>> counters_;
};

/// A counter is only ever added to: by what came since the last look.
void raise(Counter& counter, std::uint64_t total) {
  const double ahead = static_cast<double>(total) - counter.Value();
  if (ahead > 0) counter.Increment(ahead);
}

}  // namespace

struct GateMetrics::Impl {
  prometheus::Registry registry;
  std::mutex store_mutex;

  Family<Counter>& counter(const char* name, const char* text) {
    return prometheus::BuildCounter().Name(name).Help(text).Register(registry);
  }
  Family<Gauge>& gauge(const char* name, const char* text) {
    return prometheus::BuildGauge().Name(name).Help(text).Register(registry);
  }

  CountersByPair decisions{counter("dripgate_decisions_total", "Checks, by verdict and what decided them."),
                           "verdict", "degraded"};
  CountersByPair policies{counter("dripgate_policy_decisions_total", "What each policy said."), "policy",
                          "verdict"};
  CountersByPair vendor_acquires{
      counter("dripgate_vendor_acquires_total", "Calls to vendors that wanted to start."), "vendor",
      "verdict"};
  CountersByPair vendor_answers{counter("dripgate_vendor_answers_total", "Answers of vendors."), "vendor",
                                "kind"};
  CountersByPair vendor_effects{counter("dripgate_vendor_effects_total", "What answers of vendors changed."),
                                "vendor", "effect"};
  Histogram& took = prometheus::BuildHistogram()
                        .Name("dripgate_decision_seconds")
                        .Help("From the question to the decision, the store included.")
                        .Register(registry)
                        .Add({}, kTookSeconds);
  Family<Counter>& missing =
      counter("dripgate_policy_missing_keys_total", "Checks without a key part of a policy that they match.");
  Family<Counter>& errors =
      counter("dripgate_store_errors_total", "Failed calls of the checks' store, by class.");
  Family<Counter>& degraded =
      counter("dripgate_degraded_charges_total", "Charges decided by a failure mode, by mode.");
  Counter& openings = counter("dripgate_breaker_openings_total", "Shards given up for a while.").Add({});
  Counter& probes = counter("dripgate_breaker_probes_total", "Looks whether a shard is back.").Add({});
  Counter& lost = counter("dripgate_refunds_lost_total", "Units that stayed spent after a refusal.").Add({});
  Family<Gauge>& breakers = gauge("dripgate_breaker_state", "0 closed, 1 open, 2 half-open, by shard.");
  Gauge& instances = gauge("dripgate_instances", "Processes that share the limits, as last counted.").Add({});
};

GateMetrics::GateMetrics() : impl_(std::make_unique<Impl>()) {
  // A rate over a series that appears with its first decision misses that decision.
  for (const char* verdict : {"allowed", "denied", "unavailable"}) (void)impl_->decisions.at(verdict, "none");
}
GateMetrics::~GateMetrics() = default;

void GateMetrics::decision(std::string_view verdict, std::string_view degraded, Duration took) {
  impl_->decisions.at(verdict, degraded).Increment();
  impl_->took.Observe(static_cast<double>(took.count()) / 1e6);
}

void GateMetrics::policy(std::string_view policy, std::string_view verdict) {
  impl_->policies.at(policy, verdict).Increment();
}

void GateMetrics::vendor_acquire(std::string_view vendor, std::string_view verdict) {
  impl_->vendor_acquires.at(vendor, verdict).Increment();
}

void GateMetrics::vendor_answer(std::string_view vendor, std::string_view kind) {
  impl_->vendor_answers.at(vendor, kind).Increment();
}

void GateMetrics::vendor_effect(std::string_view vendor, std::string_view effect) {
  impl_->vendor_effects.at(vendor, effect).Increment();
}

void GateMetrics::missing_key(std::string_view policy) {
  // Of the policies that `policy` has counted before: no label beyond those.
  impl_->missing.Add({{"policy", impl_->policies.shown(policy)}}).Increment();
}

void GateMetrics::store(const GateStoreFigures& figures) {
  const std::scoped_lock lock(impl_->store_mutex);
  for (const auto& [name, total] : figures.errors)
    raise(impl_->errors.Add({{"class", std::string(name)}}), total);
  for (const auto& [mode, total] : figures.degraded)
    raise(impl_->degraded.Add({{"mode", std::string(mode)}}), total);
  raise(impl_->openings, figures.breaker_openings);
  raise(impl_->probes, figures.probes);
  raise(impl_->lost, figures.refunds_lost);
  impl_->instances.Set(figures.instances);
  for (std::size_t shard = 0; shard < figures.breakers.size(); ++shard)
    impl_->breakers.Add({{"shard", std::to_string(shard)}}).Set(figures.breakers[shard]);
}

std::string GateMetrics::text() const {
  return prometheus::TextSerializer{}.Serialize(impl_->registry.Collect());
}

}  // namespace dripgate::obs
