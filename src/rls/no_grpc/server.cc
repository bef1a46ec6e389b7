// A build without gRPC (DRIPGATE_GRPC=OFF): its library is not instrumented, so ThreadSanitizer goes without.
#include "rls/server.h"

namespace dripgate::rls {

struct Server::Impl {};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions&, ServerContext) {
  return fail(ErrorCode::unavailable, "server.rls: this build has no gRPC (DRIPGATE_GRPC=OFF)");
}

std::uint16_t Server::port() const {
  return 0;
}

void Server::stop(Duration) {}

}  // namespace dripgate::rls
