// `dripgate bench store`: what the Redis of a config carries.
#include <algorithm>

#include "app/file_limit.h"
#include "cli/bench_print.h"
#include "cli/config_file.h"
#include "cli/console.h"
#include "cli/verbs.h"
#include "runtime/redis_options.h"

namespace dripgate::cli {
namespace {

constexpr Duration kAwaitLossMax = 10min;
/// Primaries of a large cluster: each connection is one to every primary.
constexpr std::size_t kPrimariesExpected = 16;

/// Empty: fine.
std::string fault_of(const BenchStoreOptions& options) {
  if (options.step <= Duration{0} || options.step > capacity::kStepMax)
    return "--step is the time of each load; accepted: more than 0, up to 1m";
  if (options.await_loss > kAwaitLossMax) return "--await-loss may be up to 10m";
  return {};
}

capacity::BenchOptions options_of(const BenchStoreOptions& options, const config::RedisStore& store) {
  return {.redis = runtime::redis_options(store),
          .key_prefix = store.key_prefix,
          .late = store.timeout,
          .peak = options.peak,
          .step = options.step,
          .connections = options.connections,
          .clients = options.clients,
          .keys = options.keys,
          .load = {.instances = options.instances,
                   .requests_per_second = options.requests,
                   .checks_per_request = options.checks,
                   .keys = options.alive_keys},
          .await_loss = options.await_loss > Duration{0} ? std::optional(options.await_loss) : std::nullopt,
          .progress = [](std::string_view what) { complain(what); }};
}

}  // namespace

int run_bench_store(const BenchStoreOptions& options) {
  if (const std::string fault = fault_of(options); !fault.empty()) {
    complain(fault);
    return kExitUsage;
  }
  const auto store = load_redis_store(options.config);
  if (!store) return kExitUsage;
  const auto connections = std::max(options.connections, options.clients) * kPrimariesExpected;
  if (const auto warning = app::allow_open_files(app::kOwnFilesMax + connections)) complain(*warning);
  const capacity::BenchOptions bench = options_of(options, *store);
  if (bench.peak == 0 && bench.load.calls_per_second() > static_cast<double>(capacity::kPeakMax)) {
    complain("--requests x --checks is more than this tool offers; say with --peak what is 100 %");
    return kExitUsage;
  }
  net::IoLoop loop;
  const auto result = capacity::run_bench(loop, bench);
  if (!result) return complain(result.error());
  print(options.json ? bench_json(*result, bench.load, bench.late) + "\n"
                     : bench_text(*result, bench.load, bench.late));
  return kExitOk;
}

}  // namespace dripgate::cli
