// Client: HTTP/1.1 to one origin over a bounded pool of keep-alive connections. The sink and the CLI use it.
// Never follows redirects, never sends a request twice.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "http/message.h"
#include "http/url.h"
#include "net/io_loop.h"
#include "net/tls_files.h"

namespace dripgate::http {

struct ClientOptions {
  std::size_t max_connections = 64;
  std::size_t waiting_max = kClientWaitingMax;  // calls waiting for a connection; over: full
  Duration idle = kClientIdleMax;               // a connection unused for so long is closed
  net::ClientTls tls{};                         // for https
};

struct Call {
  std::string method = "POST";
  std::string target = "/";
  Headers headers{};  // Host, Content-Length and Connection are added
  std::string body{};
  Duration timeout = 10s;                          // from a free connection to the last byte of the answer
  std::size_t answer_bytes_max = kAnswerBytesMax;  // a longer body is cut there; the connection is not kept
  /// Asked on the loop's thread right before the first byte is written; false: nothing is sent, `cancelled`.
  std::function<bool()> still_wanted{};
};

class Client {
 public:
  using Answered = std::move_only_function<void(Result<Response>)>;

  /// Errors: invalid_argument (TLS files). The loop outlives the Client.
  static Result<std::unique_ptr<Client>> make(net::IoLoop& loop, const Url& origin, ClientOptions options);
  /// Closes every connection; calls still open are answered `cancelled` on the loop, if it still runs.
  ~Client();

  /// Thread-safe. `done` runs on the loop, once. Errors: unavailable (not sent, or no whole answer came),
  /// timed_out, full, cancelled; detail is one sentence.
  void send(Call call, Answered done);

 private:
  struct Impl;
  explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace dripgate::http
