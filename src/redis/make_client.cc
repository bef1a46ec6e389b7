#include "redis/make_client.h"

#include <random>

#include "net/tls.h"
#include "redis/cluster_client.h"
#include "redis/single_client.h"

namespace dripgate::redis {
namespace {

std::uint64_t fresh_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::optional<std::unexpected<Error>> refuse(const Options& options) {
  if (options.nodes.empty()) {
    return fail(ErrorCode::invalid_argument, "no Redis node is given; accepted: at least one host and port");
  }
  if (options.timeout <= Duration{0}) {
    return fail(ErrorCode::invalid_argument, "the Redis timeout is not positive; accepted: above 0");
  }
  if (options.layout == Options::Layout::cluster && options.database != 0) {
    return fail(ErrorCode::invalid_argument,
                "a Redis Cluster has no database " + std::to_string(options.database) + "; accepted: 0");
  }
  return std::nullopt;
}

Result<ConnectionSetup> setup_of(const Options& options) {
  ConnectionSetup setup{
      .identity = {.user = options.user,
                   .password = options.password,
                   .name = options.name,
                   .database = options.database},
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

}  // namespace

Result<std::unique_ptr<Client>> make_client(net::IoLoop& loop, Options options) {
  if (auto refused = refuse(options)) return std::move(*refused);
  auto setup = setup_of(options);
  if (!setup) return std::unexpected(std::move(setup.error()));
  if (options.layout == Options::Layout::cluster) {
    auto topology = std::make_shared<Topology>(loop, std::move(options.nodes), std::move(*setup));
    topology->start();
    return std::make_unique<ClusterClient>(loop, std::move(topology), options.timeout);
  }
  const Endpoint& node = options.nodes.front();
  auto connection = std::make_shared<Connection>(loop, node.text(), always_at(node), std::move(*setup));
  connection->start();
  return std::make_unique<SingleClient>(loop, std::move(connection), options.timeout);
}

}  // namespace dripgate::redis
