// What Options mean for connections: shared by clients and subscribers. For the Asio files of this room only.
#pragma once

#include <memory>

#include "redis/connection.h"
#include "redis/sentinels.h"

namespace dripgate::redis {

/// How to speak to the data nodes. Errors: invalid_argument, in one sentence (no node, a timeout of 0, TLS
/// files, a database in a cluster, Sentinels without a master's name).
[[nodiscard]] Result<ConnectionSetup> setup_of(const Options& options);

/// The Sentinels of a checked Options, spoken to like the data nodes but as their own default user.
[[nodiscard]] std::shared_ptr<Sentinels> sentinels_of(net::IoLoop& loop, const Options& options,
                                                      const ConnectionSetup& setup);

}  // namespace dripgate::redis
