// Connects to Pub/Sub over gRPC (grpc/), or says that this build cannot (no_grpc/).
#pragma once

#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "broker/gcp/channels.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

/// Connections that streams are spread over; calls have one of their own.
inline constexpr int kStreamChannelsMax = 4;

struct Connection {
  std::unique_ptr<Transport> transport;  // answers on the executor; ended on it or after it
  std::unique_ptr<Admin> admin;
};

/// Returns before anything is connected. Errors: as gcp/channels.h.
[[nodiscard]] Result<Connection> connect(const gcp::Endpoint& endpoint, const gcp::Environment& environment,
                                         Executor& executor);

}  // namespace dripgate::broker::pubsub
