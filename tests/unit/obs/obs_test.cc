// Metrics, log lines and trace context.
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "obs/trace.h"

namespace dripgate::obs {
namespace {

constexpr WallTime kNow{std::chrono::seconds{1'800'000'000}};

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, ShowEveryFixedSeriesOfAStreamFromItsStart) {
  Metrics metrics;
  (void)metrics.stream("payouts");
  const std::string text = metrics.text();
  for (const char* line :
       {R"(dripgate_verdicts_total{stream="payouts",verdict="now"} 0)",
        R"(dripgate_verdicts_total{stream="payouts",verdict="dead_letter"} 0)",
        R"(dripgate_bookings_total{stream="payouts"} 0)", R"(dripgate_rebooks_total{stream="payouts"} 0)",
        R"(dripgate_deliveries_total{outcome="rate_limited",stream="payouts"} 0)",
        R"(dripgate_redeliveries_total{stream="payouts"} 0)",
        R"(dripgate_dead_lettered_total{reason="beyond_horizon",stream="payouts"} 0)",
        R"(dripgate_dead_lettered_total{reason="attempts_exhausted",stream="payouts"} 0)",
        R"(dripgate_reloads_total{result="refused"} 0)"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(Metrics, CountWhatHappened) {
  Metrics metrics;
  StreamMetrics& stream = metrics.stream("p");
  stream.verdict("scheduled");
  stream.booking();
  stream.release(Duration{0});
  stream.release(1500ms);
  stream.rebook();
  stream.delivery("confirmed");
  stream.dead_letter("beyond_horizon");
  stream.redelivery();
  stream.missing_key();
  stream.port_error("timer", ErrorCode::timed_out);
  stream.set({.paused = true,
              .in_flight = 3,
              .backlog = 5,
              .dead_letters = 1,
              .oldest_slot = kNow - 2s,
              .eta = kNow + 90s},
             kNow);
  metrics.http_request("/v1/streams/{id}", 200);
  metrics.ingest_refused("rate");
  const std::string text = metrics.text();
  for (const char* line :
       {R"(dripgate_verdicts_total{stream="p",verdict="scheduled"} 1)",
        R"(dripgate_releases_total{kind="now",stream="p"} 1)",
        R"(dripgate_releases_total{kind="dispatched",stream="p"} 1)",
        R"(dripgate_late_dispatch_seconds_bucket{stream="p",le="1"} 0)",
        R"(dripgate_late_dispatch_seconds_bucket{stream="p",le="2.5"} 1)",
        R"(dripgate_late_dispatch_seconds_sum{stream="p"} 1.5)",
        R"(dripgate_dead_lettered_total{reason="beyond_horizon",stream="p"} 1)",
        R"(dripgate_port_errors_total{class="timed_out",port="timer",stream="p"} 1)",
        R"(dripgate_stream_paused{stream="p"} 1)", R"(dripgate_in_flight{stream="p"} 3)",
        R"(dripgate_backlog{stream="p"} 5)", R"(dripgate_oldest_slot_overdue_seconds{stream="p"} 2)",
        R"(dripgate_backlog_eta_seconds{stream="p"} 90)",
        R"(dripgate_http_requests_total{route="/v1/streams/{id}",status="200"} 1)",
        R"(dripgate_ingest_refused_total{reason="rate"} 1)"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(Metrics, ShowOneVersionAtATime) {
  Metrics metrics;
  metrics.config_loaded("aaaa", kNow);
  metrics.config_loaded("bbbb", kNow + 60s);
  metrics.reload_refused();
  const std::string text = metrics.text();
  EXPECT_EQ(text.find("aaaa"), std::string::npos);
  EXPECT_TRUE(has_line(text, R"(dripgate_policy_version{version="bbbb"} 1)"));
  EXPECT_TRUE(has_line(text, "dripgate_last_reload_timestamp_seconds 1800000060"));
  EXPECT_TRUE(has_line(text, R"(dripgate_reloads_total{result="accepted"} 2)"));
  EXPECT_TRUE(has_line(text, R"(dripgate_reloads_total{result="refused"} 1)"));
}

TEST(Metrics, FoldLabelValuesBeyondTheBoundIntoOther) {
  Metrics metrics;
  std::string text;
  const auto lines_with = [&](const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  (void)metrics.stream("p");
  text = metrics.text();
  const std::size_t known = lines_with("\ndripgate_dead_lettered_total{");  // reasons, from the start
  ASSERT_GT(known, 0u);
  for (std::size_t i = 0; i < 3 * kMetricLabelsMax; ++i) {
    metrics.stream("p").dead_letter("reason_" + std::to_string(i));
    metrics.stream("stream_" + std::to_string(i)).booking();
  }
  text = metrics.text();
  EXPECT_EQ(lines_with("\ndripgate_dead_lettered_total{reason=\"reason_"), kMetricLabelsMax - known);
  EXPECT_EQ(lines_with("\ndripgate_dead_lettered_total{reason=\"other\",stream=\"p\"}"), 1u);
  EXPECT_LE(lines_with("\ndripgate_bookings_total{"), kMetricLabelsMax + 1);
  EXPECT_TRUE(has_line(text, "dripgate_dead_lettered_total{reason=\"other\",stream=\"p\"} " +
                                 std::to_string(2 * kMetricLabelsMax + known)));
}

TEST(Metrics, AreCountedFromSeveralThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        metrics.stream("p").delivery(i % 2 == 0 ? "confirmed" : "failed");
        if (i % 100 == 0) (void)metrics.text();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(has_line(metrics.text(), R"(dripgate_deliveries_total{outcome="confirmed",stream="p"} 2000)"));
}

struct Lines {
  std::vector<std::string> lines;
  LogOptions options(bool json, Level level = Level::info) {
    return {
        .json = json, .level = level, .write = [this](std::string_view line) { lines.emplace_back(line); }};
  }
};

TEST(Log, WritesFieldsAsTextOnOneLine) {
  Lines out;
  Log log(out.options(false));
  log.warn("sink failed",
           {{"stream", "p"}, {"count", 3}, {"late", 1.5}, {"ok", false}, {"detail", "a \"b\"\nc\x1b[0m"}});
  ASSERT_EQ(out.lines.size(), 1u);
  EXPECT_NE(out.lines[0].find(
                "sink failed stream=p count=3 late=1.5 ok=false detail=\"a \\\"b\\\"\\x0ac\\x1b[0m\""),
            std::string::npos)
      << out.lines[0];
  EXPECT_EQ(out.lines[0].find('\n'), out.lines[0].size() - 1);
}

TEST(Log, WritesValidJsonWhateverTheFieldsHold) {
  Lines out;
  Log log(out.options(true));
  log.info("odd", {{"bytes", "\xff\xfe \" \n"}, {"count", std::uint64_t{7}}, {"percent", "100%v"}});
  ASSERT_EQ(out.lines.size(), 1u);
  const auto line = nlohmann::json::parse(out.lines[0], nullptr, false);
  ASSERT_TRUE(line.is_object()) << out.lines[0];
  EXPECT_EQ(line["event"], "odd");
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["count"], 7);
  EXPECT_EQ(line["percent"], "100%v");
  EXPECT_EQ(line["time"].get<std::string>().size(), 24u);
}

TEST(Log, DropsLinesBelowItsLevelButNeverAnAuditLine) {
  Lines out;
  Log log(out.options(true, Level::error));
  log.info("quiet");
  log.warn("quiet");
  log.audit("freeze", {{"by", "loopback"}});
  log.error("loud");
  ASSERT_EQ(out.lines.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(out.lines[0])["audit"], true);
  EXPECT_EQ(nlohmann::json::parse(out.lines[0])["event"], "freeze");
}

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Trace, ReadsItsFields) {
  const auto trace = parse_traceparent(kTrace);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(trace->parent_id, "b7ad6b7169203331");
  EXPECT_EQ(trace->flags, 1);
}

TEST(Trace, IgnoresWhatTheStandardCallsInvalid) {
  const std::string good = kTrace;
  EXPECT_TRUE(parse_traceparent("cc" + good.substr(2) + "-what-comes-later"));
  for (const std::string& bad : std::initializer_list<std::string>{
           std::string(), good + "-x", "ff" + good.substr(2), good.substr(0, 54), "cc" + good.substr(2) + "x",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g"}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
  }
}

}  // namespace
}  // namespace dripgate::obs
