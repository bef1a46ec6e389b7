#include "cli/bench_print.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "core/names.h"

namespace dripgate::cli {
namespace {

using Json = nlohmann::ordered_json;
using capacity::BenchResult;
using capacity::Load;
using capacity::Step;

double ms(Duration span) {
  return static_cast<double>(span.count()) / 1000;
}

std::string name_of(const Step& step) {
  return step.percent == 0 ? "most" : fmt::format("{} %", step.percent);
}

std::string step_line(const Step& step) {
  std::string line = fmt::format(
      "  {:>5}  {:>9}  {:>9.0f}  {:>7.2f}  {:>7.2f}  {:>7.2f}  {:>6.2f} %  {:>8}  {:>8}  {:>5.0f} %\n",
      name_of(step), step.percent == 0 ? "-" : fmt::format("{:.0f}", step.offered_per_second),
      step.answered_per_second, ms(step.p50), ms(step.p95), ms(step.p99), step.late_share * 100, step.failed,
      step.redis_us_per_call > 0 ? fmt::format("{:.1f}", step.redis_us_per_call) : "-",
      step.own_cpu_share * 100);
  if (step.failed > 0) line += fmt::format("         first failure: {}\n", printable(step.failure));
  return line;
}

std::string step_head(Duration late) {
  return fmt::format("  {:>5}  {:>9}  {:>9}  {:>7}  {:>7}  {:>7}  {:>8}  {:>8}  {:>8}  {:>7}\n", "load",
                     "offered/s", "answered", "p50 ms", "p95 ms", "p99 ms",
                     fmt::format("> {} ms", late / 1ms), "failed", "Redis us", "own CPU");
}

/// "32600 / 32100 / 33900": of every primary, by the owner of the key at the start.
std::string shard_rates(const Step& step) {
  std::string text;
  for (const capacity::ShardStep& shard : step.shards)
    text += fmt::format("{}{:.0f}", text.empty() ? "" : " / ", shard.answered_per_second);
  return text;
}

std::string plan_text(const BenchResult& result, const Load& load) {
  std::string text =
      fmt::format("plan     {} instances, {} requests/s x {} checks, {} keys\n", load.instances,
                  load.requests_per_second, load.checks_per_request, load.keys);
  if (!result.plan) return text + "         unknown: INFO does not tell what a call costs\n";
  text += fmt::format(
      "         {:.0f} calls/s at {:.0f} calls/s per shard ({:.0f} % of its command thread): {} shard{}\n",
      result.plan->calls_per_second, result.plan->calls_per_shard, capacity::kPlannedShare * 100,
      result.plan->shards, result.plan->shards == 1 ? "" : "s");
  if (result.plan->bytes > 0)
    text += fmt::format("         {:.0f} MB of keys, {:.0f} MB per shard\n", result.plan->bytes / 1e6,
                        result.plan->bytes_per_shard / 1e6);
  return text;
}

std::string outage_text(const capacity::Outage& outage, Duration late) {
  std::string text = fmt::format("\nwith {} lost\n{}", printable(outage.node), step_head(late));
  for (const Step& step : outage.steps) {
    text += step_line(step);
    for (std::size_t i = 0; i < step.shards.size(); ++i) {
      const capacity::ShardStep& shard = step.shards[i];
      const std::string p99 =
          shard.answered_per_second > 0 ? fmt::format(", p99 {:.2f} ms", ms(shard.p99)) : std::string();
      text += fmt::format("         keys of primary {}: {:.0f}/s answered{}, {} failed\n", i + 1,
                          shard.answered_per_second, p99, shard.failed);
    }
  }
  if (!outage.back_after) return text + "  keys of one primary were not answered again\n";
  return text + fmt::format("  keys of every primary were answered {:.1f} s after the loss\n",
                            static_cast<double>(outage.back_after->count()) / 1e6);
}

Json to_json(const Step& step) {
  Json shards = Json::array();
  for (const capacity::ShardStep& shard : step.shards)
    shards.push_back({{"answeredPerSecond", shard.answered_per_second},
                      {"failed", shard.failed},
                      {"p99Us", shard.p99.count()}});
  return {{"percent", step.percent},
          {"offeredPerSecond", step.offered_per_second},
          {"answeredPerSecond", step.answered_per_second},
          {"answered", step.answered},
          {"failed", step.failed},
          {"failure", step.failure},
          {"lateShare", step.late_share},
          {"p50Us", step.p50.count()},
          {"p95Us", step.p95.count()},
          {"p99Us", step.p99.count()},
          {"redisUsPerCall", step.redis_us_per_call},
          {"ownCpuShare", step.own_cpu_share},
          {"shards", std::move(shards)}};
}

Json to_json(const std::vector<Step>& steps) {
  Json all = Json::array();
  for (const Step& step : steps) all.push_back(to_json(step));
  return all;
}

Json accuracy_json(const BenchResult& result) {
  Json all = Json::array();
  for (const capacity::Accuracy& one : result.accuracy)
    all.push_back({{"algorithm", core::to_string(one.algorithm)},
                   {"limit", one.limit},
                   {"asked", one.asked},
                   {"admitted", one.admitted},
                   {"failed", one.failed},
                   {"admittedPerLimit", one.ratio()}});
  return all;
}

}  // namespace

std::string bench_text(const BenchResult& result, const Load& load, Duration late) {
  std::string text;
  for (const std::string& primary : result.primaries)
    text += fmt::format("primary  {}\n", printable(primary));
  text += fmt::format("\nloads    {} connections, {} keys, one script call each; 100 % = {} calls/s\n{}",
                      result.connections, result.keys, result.peak, step_head(late));
  text += step_line(result.saturation);
  for (const Step& step : result.steps) text += step_line(step);
  text += fmt::format("         per shard at most: {} calls/s\n", shard_rates(result.saturation));
  text += fmt::format("\naccuracy {} clients, one key: admitted / limit\n", result.clients);
  for (const capacity::Accuracy& one : result.accuracy)
    text += fmt::format("  {:<12}  {} / {} = {:.3f} of {} calls, {} failed\n", core::to_string(one.algorithm),
                        one.admitted, one.limit, one.ratio(), one.asked, one.failed);
  text += result.bytes_per_key > 0 ? fmt::format("\nmemory   {:.0f} B per key\n", result.bytes_per_key)
                                   : std::string("\nmemory   unknown: INFO does not tell\n");
  text += plan_text(result, load);
  if (result.outage) text += outage_text(*result.outage, late);
  if (result.keys_left > 0)
    text += fmt::format("\n{} keys could not be removed; they expire within an hour\n", result.keys_left);
  return text;
}

std::string bench_json(const BenchResult& result, const Load& load, Duration late) {
  Json json{{"primaries", result.primaries},
            {"connections", result.connections},
            {"keys", result.keys},
            {"peak", result.peak},
            {"lateUs", late.count()},
            {"saturation", to_json(result.saturation)},
            {"steps", to_json(result.steps)},
            {"clients", result.clients},
            {"accuracy", accuracy_json(result)},
            {"bytesPerKey", result.bytes_per_key}};
  json["load"] = {{"instances", load.instances},
                  {"requestsPerSecond", load.requests_per_second},
                  {"checksPerRequest", load.checks_per_request},
                  {"keys", load.keys}};
  json["plan"] = nullptr;
  if (result.plan)
    json["plan"] = {{"callsPerSecond", result.plan->calls_per_second},
                    {"callsPerShard", result.plan->calls_per_shard},
                    {"shards", result.plan->shards},
                    {"bytes", result.plan->bytes},
                    {"bytesPerShard", result.plan->bytes_per_shard}};
  json["outage"] = nullptr;
  if (result.outage) {
    json["outage"] = {
        {"node", result.outage->node},
        {"steps", to_json(result.outage->steps)},
        {"backAfterUs", result.outage->back_after ? Json(result.outage->back_after->count()) : Json()}};
  }
  json["keysLeft"] = result.keys_left;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dripgate::cli
