// A build without gRPC (DRIPGATE_GRPC=OFF): its library is not instrumented, so ThreadSanitizer goes without.
#include "broker/gcp/channels.h"

namespace dripgate::broker::gcp {

Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint&, int, const Environment&) {
  return fail(ErrorCode::unavailable, "gcp: this build has no gRPC (DRIPGATE_GRPC=OFF)");
}

LibraryEnd::~LibraryEnd() = default;

}  // namespace dripgate::broker::gcp
