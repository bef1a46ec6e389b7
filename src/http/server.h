// Server: HTTP/1.1 with keep-alive, chunked bodies, Expect: 100-continue and TLS, every dimension bounded.
// app places it on its loops: connections are spread over them and stay where they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "http/message.h"
#include "net/io_loop.h"
#include "net/tls_files.h"

namespace dripgate::http {

/// Defaults are the product's bounds; tests lower them.
struct ServerLimits {
  std::size_t header_bytes = kHeaderBytesMax;             // over: 431
  std::size_t body_bytes = kBodyBytesMax;                 // over: 413
  std::size_t body_bytes_total = kBodyBytesTotalMax;      // of all requests in hand; over: 503
  std::size_t connections = kConnectionsMax;              // over: 503
  std::size_t requests_in_flight = kRequestsInFlightMax;  // handed to the handler, unanswered; over: 503
  Duration idle_timeout = kHttpIdleTimeout;               // between requests
  Duration header_timeout = kHttpHeaderTimeout;           // first byte to the end of the header
  Duration body_timeout = kHttpBodyTimeout;               // end of the header to the end of the body
  Duration write_timeout = kHttpWriteTimeout;             // of one answer
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::optional<net::ServerTls> tls{};
  ServerLimits limits{};
  HeadCheck head_check{};  // may be empty
};

class Server {
 public:
  /// Binds and listens; connections are accepted once loops[0] runs. Loops outlive the Server. Errors:
  /// invalid_argument (host, TLS files), unavailable (the address is taken).
  static Result<std::unique_ptr<Server>> listen(ServerOptions options, const std::vector<net::IoLoop*>& loops,
                                                Handler handler);
  /// Only after stop() is done, or when no loop runs.
  ~Server();

  [[nodiscard]] std::uint16_t port() const;
  /// Open connections, for /metrics and tests.
  [[nodiscard]] std::size_t connections() const;

  /// Thread-safe, once. Stops accepting, closes idle connections, lets requests in hand be answered for at
  /// most `grace`, then closes the rest. `done` runs on loops[0].
  void stop(Duration grace, Task done);

 private:
  struct Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace dripgate::http
