// Makes the Client for a deployment.
#pragma once

#include <memory>

#include "base/result.h"
#include "net/io_loop.h"
#include "redis/client.h"
#include "redis/options.h"

namespace dripgate::redis {

/// Connects in the background, at once and for ever again; until then calls wait for their timeout. Lives on
/// `loop` (made before it runs, or on its thread), which outlives it. Destroyed: what waits is answered
/// `cancelled` on the loop, what was sent `timed_out`. Errors: invalid_argument (no node, TLS files, a
/// database in a cluster).
[[nodiscard]] Result<std::unique_ptr<Client>> make_client(net::IoLoop& loop, Options options);

}  // namespace dripgate::redis
