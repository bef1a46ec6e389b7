#include "redis/deployment.h"

#include <random>

#include "net/tls.h"

namespace dripgate::redis {
namespace {

std::uint64_t fresh_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::optional<std::string> fault_of(const Options& options) {
  if (options.nodes.empty()) return "no Redis node is given; accepted: at least one host and port";
  if (options.timeout <= Duration{0}) return "the Redis timeout is not positive; accepted: above 0";
  if (options.layout == Options::Layout::cluster && options.database != 0) {
    return "a Redis Cluster has no database " + std::to_string(options.database) + "; accepted: 0";
  }
  if (options.layout == Options::Layout::sentinel && options.sentinel_master.empty()) {
    return "the Sentinels are asked for no master; accepted: the name they know it by";
  }
  return std::nullopt;
}

}  // namespace

Result<ConnectionSetup> setup_of(const Options& options) {
  if (auto fault = fault_of(options)) return fail(ErrorCode::invalid_argument, std::move(*fault));
  ConnectionSetup setup{
      .identity = {.user = options.user,
                   .password = options.password,
                   .name = options.name,
                   .database = options.database,
                   .primary_only = options.layout == Options::Layout::sentinel},
      .timeout = options.timeout,
      .bounds = {.in_flight_max = options.in_flight_max, .queued_bytes_max = options.queued_bytes_max},
      .seed = fresh_seed()};
  if (options.tls) {
    auto tls = net::client_tls(*options.tls);
    if (!tls) return std::unexpected(std::move(tls.error()));
    setup.tls = std::move(*tls);
  }
  return setup;
}

std::shared_ptr<Sentinels> sentinels_of(net::IoLoop& loop, const Options& options,
                                        const ConnectionSetup& setup) {
  ConnectionSetup to_sentinels = setup;
  to_sentinels.identity = {.password = options.sentinel_password, .name = options.name};
  return std::make_shared<Sentinels>(loop, options.nodes, options.sentinel_master, std::move(to_sentinels));
}

}  // namespace dripgate::redis
