// Channels to services of Google Cloud, with the credentials of the environment (application default
// credentials). For the adapters in this room that speak gRPC; no gRPC type in here, so that others can name
// one. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

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

/// How long the end of a process waits for the threads of gRPC.
inline constexpr Duration kLibraryEndWait = std::chrono::seconds{5};

/// Outlives every channel and server of this process: its end waits until the library has ended its own
/// threads, which may happen behind the last channel's back. A process that returns from main before them
/// now and then aborts on objects of the library that are no more.
struct LibraryEnd {
  LibraryEnd() = default;
  LibraryEnd(const LibraryEnd&) = delete;
  LibraryEnd& operator=(const LibraryEnd&) = delete;
  ~LibraryEnd();
};

}  // namespace dripgate::broker::gcp
