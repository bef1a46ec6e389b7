// Channels to services of Google Cloud, with the credentials of the environment (application default
// credentials). For the adapters in this room that speak gRPC; no gRPC type in here, so that others can name
// one. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace grpc {
class Channel;
}

namespace dripgate::broker::gcp {

/// A service as this process reaches it.
struct Endpoint {
  std::string target;      // "pubsub.googleapis.com:443"
  bool plaintext = false;  // an emulator: neither TLS nor credentials
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Connects in the background; `number` tells connections to one target apart. Looks for credentials once
/// per call, which may take a second where there is a metadata server to ask. Errors: invalid_argument (no
/// credentials, or of a kind that this build cannot use: what to do, one sentence); unavailable: this build
/// has no gRPC.
[[nodiscard]] Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint, int number,
                                                                  const Environment& environment);

}  // namespace dripgate::broker::gcp
