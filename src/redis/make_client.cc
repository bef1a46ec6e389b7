#include "redis/make_client.h"

#include "redis/cluster_client.h"
#include "redis/deployment.h"
#include "redis/single_client.h"

namespace dripgate::redis {
namespace {

std::unique_ptr<Client> of_one(net::IoLoop& loop, const Options& options, ConnectionSetup setup) {
  const Endpoint& node = options.nodes.front();
  auto connection = std::make_shared<Connection>(loop, node.text(), always_at(node), std::move(setup));
  connection->start();
  return std::make_unique<SingleClient>(loop, std::move(connection), options.timeout);
}

std::unique_ptr<Client> of_sentinels(net::IoLoop& loop, const Options& options, ConnectionSetup setup) {
  auto sentinels = sentinels_of(loop, options, setup);
  Locate locate = [sentinels] { return sentinels->locate(); };
  auto connection =
      std::make_shared<Connection>(loop, options.sentinel_master, std::move(locate), std::move(setup));
  // Every Sentinel announces the same switch: the later ones find us there already.
  sentinels->watch([weak = std::weak_ptr(connection)](const Endpoint& primary) {
    const ConnectionPtr held = weak.lock();
    if (held && held->node() != primary.text()) held->reconnect("the Sentinels switched the primary");
  });
  connection->start();
  return std::make_unique<SingleClient>(loop, std::move(connection), options.timeout,
                                        [sentinels] { sentinels->close(); });
}

std::unique_ptr<Client> of_cluster(net::IoLoop& loop, Options options, ConnectionSetup setup) {
  auto topology = std::make_shared<Topology>(loop, std::move(options.nodes), std::move(setup));
  topology->start();
  return std::make_unique<ClusterClient>(loop, std::move(topology), options.timeout);
}

}  // namespace

Result<std::unique_ptr<Client>> make_client(net::IoLoop& loop, Options options) {
  auto setup = setup_of(options);
  if (!setup) return std::unexpected(std::move(setup.error()));
  switch (options.layout) {
    case Options::Layout::sentinel:
      return of_sentinels(loop, options, std::move(*setup));
    case Options::Layout::cluster:
      return of_cluster(loop, std::move(options), std::move(*setup));
    default:
      return of_one(loop, options, std::move(*setup));
  }
}

}  // namespace dripgate::redis
