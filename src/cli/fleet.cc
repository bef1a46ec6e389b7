// `dripgate instances` and `dripgate reload`: which config each process on one Redis runs, and the message
// that makes all of them look at their files.
#include "app/fleet.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "cli/config_file.h"
#include "cli/console.h"
#include "cli/verbs.h"
#include "runtime/real_clock.h"

namespace dripgate::cli {
namespace {

/// While it waits for reports.
constexpr Duration kLookEvery = 200ms;

using Json = nlohmann::ordered_json;
using Reports = std::vector<app::ConfigReport>;

Json to_json(const app::ConfigReport& report) {
  const server::ConfigState& config = report.config;
  return {{"instance", report.instance},
          {"part", report.part},
          {"version", config.version},
          {"appliedAt", format_rfc3339(config.applied, Fraction::milliseconds)},
          {"reload", config.reload.value_or(0)},
          {"refused", config.refused.empty() ? Json(nullptr) : Json(config.refused)},
          {"heardMsAgo", report.age / 1ms}};
}

Json to_json(const Reports& reports) {
  Json all = Json::array();
  for (const app::ConfigReport& report : reports) all.push_back(to_json(report));
  return all;
}

void print_table(const Reports& reports) {
  std::size_t width = std::string_view("instance").size();
  for (const app::ConfigReport& report : reports) width = std::max(width, report.instance.size());
  print_line(fmt::format("{:<{}}  {:<8}  {:<12}  {:>6}  {:>7}  {}", "instance", width, "part", "version",
                         "reload", "heard", "applied"));
  for (const app::ConfigReport& report : reports) {
    const server::ConfigState& config = report.config;
    print_line(fmt::format("{:<{}}  {:<8}  {:<12}  {:>6}  {:>5} s  {}", printable(report.instance), width,
                           printable(report.part), printable(config.version), config.reload.value_or(0),
                           report.age / 1s, format_rfc3339(config.applied, Fraction::milliseconds)));
    if (!config.refused.empty()) print_line("  its file is REFUSED: " + printable(config.refused));
  }
}

/// It has looked at its file since then.
bool has_looked(const app::ConfigReport& report, std::int64_t number) {
  return report.config.reload.value_or(0) >= number;
}

bool runs_its_file(const app::ConfigReport& report, std::int64_t number) {
  return has_looked(report, number) && report.config.refused.empty();
}

/// The reports once every instance has looked, or when `wait` is over.
Result<Reports> wait_for_all(app::Fleet& fleet, std::int64_t number, Duration wait) {
  const MonoTime end = runtime::mono_now() + wait;
  while (true) {
    auto reports = fleet.instances();
    if (!reports) return reports;
    const auto looked = [number](const app::ConfigReport& report) { return has_looked(report, number); };
    if (!reports->empty() && std::ranges::all_of(*reports, looked)) return reports;
    if (runtime::mono_now() >= end) return reports;
    fleet.wait(kLookEvery);
  }
}

}  // namespace

int run_instances(const InstancesOptions& options) {
  const auto store = load_redis_store(options.config);
  if (!store) return kExitUsage;
  const auto fleet = app::Fleet::make(*store);
  if (!fleet) return complain(fleet.error());
  const auto reports = (*fleet)->instances();
  if (!reports) return complain(reports.error());
  if (options.json) {
    print_line(Json{{"instances", to_json(*reports)}}.dump(2));
  } else if (reports->empty()) {
    print_line("no process has reported to this Redis");
  } else {
    print_table(*reports);
  }
  return kExitOk;
}

int run_reload(const ReloadOptions& options) {
  const auto store = load_redis_store(options.config);
  if (!store) return kExitUsage;
  const auto fleet = app::Fleet::make(*store);
  if (!fleet) return complain(fleet.error());
  const auto number = (*fleet)->ask_reload();
  if (!number) return complain(number.error());
  if (const auto told = (*fleet)->tell(*number); !told) {
    complain(fmt::format("the message was not sent, instances look within {} s by themselves: {}",
                         app::kConfigPollEvery / 1s, told.error().detail));
  }
  const auto reports = wait_for_all(**fleet, *number, options.wait);
  if (!reports) return complain(reports.error());
  const auto running = std::ranges::count_if(
      *reports, [&](const app::ConfigReport& report) { return runs_its_file(report, *number); });
  const bool all = !reports->empty() && std::cmp_equal(running, reports->size());
  if (options.json) {
    print_line(Json{{"reload", *number}, {"done", all}, {"instances", to_json(*reports)}}.dump(2));
  } else {
    if (!reports->empty()) print_table(*reports);
    print_line(fmt::format("reload {}: {} of {} instances run their file as it is now", *number, running,
                           reports->size()));
  }
  return all ? kExitOk : kExitRefused;
}

}  // namespace dripgate::cli
