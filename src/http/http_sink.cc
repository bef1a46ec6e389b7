// HttpSink: deliveries over a Client; verdicts posted home.
#include "http/http_sink.h"

#include <mutex>

#include "http/client.h"

namespace dripgate::http {

using broker::SinkAnswer;
using broker::SinkVerdict;
using Finished = std::move_only_function<void(SinkAnswer)>;

namespace {

SinkAnswer answer_of(const Error& error) {
  // `cancelled` while the sink lives means that valid_until had passed: nothing was sent.
  const bool expired = error.code == ErrorCode::cancelled;
  return {.verdict = expired ? SinkVerdict::expired : SinkVerdict::failed,
          .retry_after = std::nullopt,
          .detail = error.detail};
}

}  // namespace

struct HttpSink::Impl {
  HttpSinkOptions options;
  Url url;
  Executor& home;
  Clock& clock;
  std::unique_ptr<Client> client;
  std::mutex mutex;  // `closed`: answers come on the loop's thread, the end on home's
  bool closed = false;

  Impl(HttpSinkOptions o, Url u, Executor& h, Clock& c)
      : options(std::move(o)), url(std::move(u)), home(h), clock(c) {}

  void finish(SinkAnswer answer, Finished done) {
    const std::scoped_lock lock(mutex);
    if (closed) return;
    home.post([answer = std::move(answer), done = std::move(done)]() mutable { done(std::move(answer)); });
  }
};

Result<std::unique_ptr<HttpSink>> HttpSink::make(HttpSinkOptions options, net::IoLoop& io, Executor& home,
                                                 Clock& clock) {
  auto url = parse_url(options.url);
  if (!url) return std::unexpected(url.error());
  ClientOptions pool;
  pool.max_connections = options.max_connections;
  pool.waiting_max = options.waiting_max;
  pool.tls.ca_file = options.ca_file;
  auto client = Client::make(io, *url, std::move(pool));
  if (!client) return std::unexpected(client.error());
  auto impl = std::make_shared<Impl>(std::move(options), std::move(*url), home, clock);
  impl->client = std::move(*client);
  return std::unique_ptr<HttpSink>(new HttpSink(std::move(impl)));
}

HttpSink::HttpSink(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpSink::~HttpSink() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->closed = true;
  }
  impl_->client.reset();
}

void HttpSink::deliver(broker::Outgoing outgoing, Finished done) {
  Call call{.method = "POST",
            .target = impl_->url.target,
            .headers = delivery_headers(outgoing.message.attributes),
            .body = std::move(outgoing.message.body),
            .timeout = impl_->options.timeout,
            .answer_bytes_max = kSinkAnswerBytesMax,
            .still_wanted = {}};
  call.headers.emplace_back("user-agent", "dripgate");
  if (outgoing.valid_until < kNeverEnds) {
    call.still_wanted = [impl = impl_, until = outgoing.valid_until] {
      const std::scoped_lock lock(impl->mutex);
      return !impl->closed && impl->clock.now() < until;
    };
  }
  impl_->client->send(std::move(call),
                      [impl = impl_, done = std::move(done)](Result<Response> result) mutable {
                        const auto now = [&] {
                          const std::scoped_lock lock(impl->mutex);
                          return impl->closed ? kLongAgo : impl->clock.now();
                        };
                        SinkAnswer answer = result ? verdict_of(*result, now()) : answer_of(result.error());
                        if (result && impl->options.keep_headers) answer.headers = std::move(result->headers);
                        impl->finish(std::move(answer), std::move(done));
                      });
}

}  // namespace dripgate::http
