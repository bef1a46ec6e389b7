// HttpSink: delivers events to an HTTP endpoint: POST of the original bytes, dripgate-* attributes as
// headers. One per stream. deliver() may be called from any thread; `done` is posted on `home`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/sink.h"
#include "http/message.h"
#include "net/io_loop.h"

namespace dripgate::http {

struct HttpSinkOptions {
  std::string url;  // http:// or https:// (the certificate must name the host)
  Duration timeout = 10s;
  std::size_t max_connections = 64;
  std::size_t waiting_max = kClientWaitingMax;  // at least the stream's maxOutstandingMessages
  std::optional<std::string> ca_file{};         // empty: the system's CAs
  bool keep_headers = false;                    // answers carry their headers
};

class HttpSink final : public broker::Sink {
 public:
  /// Everything referred to outlives the sink. Errors: invalid_argument (url, CA file).
  static Result<std::unique_ptr<HttpSink>> make(HttpSinkOptions options, net::IoLoop& io, Executor& home,
                                                Clock& clock);
  /// As a crash: what is on the wire stays unanswered, no `done` is posted any more.
  ~HttpSink() override;

  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

 private:
  struct Impl;
  explicit HttpSink(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// What an answer means: semantics.md section 6, sink errors. Pure; `now` resolves a Retry-After date.
[[nodiscard]] broker::SinkAnswer verdict_of(const Response& response, WallTime now);
/// Seconds or an HTTP date (RFC 9110); a date in the past is 0. Empty: neither.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);
/// The headers of a delivery: dripgate-*, traceparent, tracestate and content-type as they are, every other
/// attribute as dripgate-attr-<name>.
[[nodiscard]] Headers delivery_headers(const broker::Attributes& attributes);

}  // namespace dripgate::http
