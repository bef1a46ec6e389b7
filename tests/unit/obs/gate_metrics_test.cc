// Series of the gate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "obs/metrics.h"

namespace dripgate::obs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(GateMetrics, CountDecisionsByVerdictAndByWhatDecided) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr(R"(dripgate_decisions_total{degraded="none",verdict="denied"} 0)"));
  metrics.gate().decision("allowed", "local", std::chrono::microseconds{300});
  metrics.gate().decision("allowed", "local", std::chrono::milliseconds{3});
  metrics.gate().policy("api", "shadow_denied");
  metrics.gate().missing_key("api");
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(dripgate_decisions_total{degraded="local",verdict="allowed"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_decision_seconds_bucket{le="0.0005"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_decision_seconds_bucket{le="0.005"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_policy_decisions_total{policy="api",verdict="shadow_denied"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_policy_missing_keys_total{policy="api"} 1)"));
}

TEST(GateMetrics, ShowTheStoreAsItIsNow) {
  Metrics metrics;
  GateStoreFigures figures;
  figures.errors = {{"timed_out", 7}};
  figures.degraded = {{"local", 5}};
  figures.breaker_openings = 1;
  figures.breakers = {0, 1};
  figures.instances = 3;
  for (int i = 0; i < 2; ++i) metrics.gate().store(figures);  // totals, not steps
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(dripgate_store_errors_total{class="timed_out"} 7)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_degraded_charges_total{mode="local"} 5)"));
  EXPECT_THAT(text, HasSubstr("dripgate_breaker_openings_total 1"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_breaker_state{shard="1"} 1)"));
  EXPECT_THAT(text, HasSubstr("dripgate_instances 3"));
}

TEST(GateMetrics, PoliciesBeyondTheBoundShareOneLabel) {
  Metrics metrics;
  for (std::size_t i = 0; i < kMetricLabelsMax + 5; ++i) {
    metrics.gate().policy("p" + std::to_string(i), "allowed");
    metrics.gate().missing_key("p" + std::to_string(i));
  }
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(dripgate_policy_decisions_total{policy="other",verdict="allowed"} 5)"));
  EXPECT_THAT(text, HasSubstr(R"(dripgate_policy_missing_keys_total{policy="other"} 5)"));
  EXPECT_THAT(text, Not(HasSubstr("p" + std::to_string(kMetricLabelsMax) + "\"")));
}

}  // namespace
}  // namespace dripgate::obs
