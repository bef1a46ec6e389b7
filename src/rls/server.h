// Server: Envoy's rate limit service (envoy.service.ratelimit.v3) over gRPC, in front of the gate. One check
// per descriptor; one of them refused, nothing is spent on any. Made and stopped by app; gRPC brings its own
// threads, which parse and hand over, or ask a store that answers at once, and never wait.
//
// A call fails (and Envoy then opens or closes by its failure_mode_deny) only when it is no question of ours
// (INVALID_ARGUMENT), lacks its token, comes beyond kCallsInFlightMax, or the process ends. A store that is
// away is answered by the modes of the policies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "base/time.h"
#include "config/snapshot.h"
#include "server/gate_service.h"

namespace dripgate::rls {

/// One call, several times what Envoy makes of the largest request that it takes: clients write the values,
/// and none of them may cause a failed call.
inline constexpr int kMessageBytesMax = 4 << 20;
/// Bytes of all calls that gRPC holds; beyond them it reads slower.
inline constexpr std::size_t kMessageBytesTotalMax = kBodyBytesTotalMax;
/// Calls that wait for their answer; one more is refused at once (RESOURCE_EXHAUSTED).
inline constexpr int kCallsInFlightMax = 4096;
inline constexpr int kCallsPerConnectionMax = kCallsInFlightMax;
/// Threads for streams that hold one as long as their client likes: those of reflection.
inline constexpr int kStreamThreadsMax = 8;
/// A client that does not end its handshake in this time is let go.
inline constexpr Duration kHandshakeTimeout = kHttpHeaderTimeout;
/// A connection that asks nothing so long is closed; Envoy makes a new one with its next question.
inline constexpr Duration kConnectionIdleMax = std::chrono::minutes{10};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::optional<config::Tls> tls;
  /// gRPC reflection asks for no token: only for callers that need none, or have shown a certificate.
  bool reflection = true;
};

/// Everything outlives the Server.
struct ServerContext {
  Executor& executor;  // of the gate
  server::GateService& gate;
  std::function<config::ConfigPtr()> config;  // thread-safe; asked per call
  /// Thread-safe, where the gate's store never waits: asked on gRPC's threads, since to hand over costs
  /// several times what a check does. Empty: every call goes to the executor.
  std::function<Result<check::Answer>(check::Request)> check_now{};
};

class Server {
 public:
  /// Listens and serves from here on. Errors: what the address or the certificate says; unavailable: this
  /// build has no gRPC.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(const ServerOptions& options,
                                                              ServerContext context);
  ~Server();

  [[nodiscard]] std::uint16_t port() const;
  /// Ordered end: health says NOT_SERVING, new calls are refused, those in hand are answered within `grace`
  /// and then cancelled. Blocks; the executor runs until it returns. Idempotent.
  void stop(Duration grace);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::rls
