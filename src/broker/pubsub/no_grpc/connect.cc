// A build without gRPC (DRIPGATE_GRPC=OFF): its library is not instrumented, so ThreadSanitizer goes without.
#include "broker/pubsub/connect.h"

namespace dripgate::broker::pubsub {

Result<Connection> connect(const gcp::Endpoint&, const gcp::Environment&, Executor&) {
  return fail(ErrorCode::unavailable, "source: { pubsub: ... }: this build has no gRPC (DRIPGATE_GRPC=OFF)");
}

}  // namespace dripgate::broker::pubsub
