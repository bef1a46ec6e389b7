// The stores over real redis-server processes on 127.0.0.1, whose clock is the test's.
#pragma once

#include "conformance/backends.h"

namespace dripgate::testing {

/// One server, one client for all calls.
[[nodiscard]] Backend redis_backend();
/// Three primaries, one client for all calls.
[[nodiscard]] Backend redis_cluster_backend();
/// One server, with a new client and new stores after every call: what a process that was killed knew is
/// gone.
[[nodiscard]] Backend redis_reconnecting_backend();

/// Three primaries, each stream spread over all of them.
[[nodiscard]] Backend redis_cluster_backend();

}  // namespace dripgate::testing
