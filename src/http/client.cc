// Client: the pool: calls wait in one queue, workers take them; a worker idle for too long ends.
#include "http/client.h"

#include <deque>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/client_worker.h"
#include "net/io_loop_impl.h"

namespace dripgate::http {

namespace asio = boost::asio;

// Everything but `context` is the loop's thread's.
struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  asio::io_context& context;
  Url origin;
  ClientOptions options;
  net::TlsContext tls;
  std::deque<PendingPtr> waiting;
  std::vector<ClientWorker*> idle;  // the last to become idle is used first, so that the rest can end
  std::vector<ClientWorker*> workers;
  bool closed = false;

  Impl(asio::io_context& c, Url o, ClientOptions opts)
      : context(c), origin(std::move(o)), options(std::move(opts)) {}

  void enqueue(PendingPtr pending) {
    if (closed) return pending->finish(fail(ErrorCode::cancelled, "the client is closed"));
    if (!idle.empty()) {
      ClientWorker* worker = idle.back();
      idle.pop_back();
      worker->assigned = std::move(pending);
      worker->wake.cancel();
      return;
    }
    if (workers.size() < options.max_connections) {
      asio::co_spawn(context, work(shared_from_this(), std::move(pending)), asio::detached);
      return;
    }
    if (waiting.size() >= options.waiting_max) {
      return pending->finish(
          fail(ErrorCode::full,
               "over " + std::to_string(options.waiting_max) + " calls wait for a connection", true));
    }
    waiting.push_back(std::move(pending));
  }

  // Static: the frame holds the Impl, not the other way round.
  static Awaitable<void> work(std::shared_ptr<Impl> self, PendingPtr pending) {
    const auto worker = std::make_shared<ClientWorker>(self->context, self->origin, self->tls);
    self->workers.push_back(worker.get());
    while (pending) {
      co_await worker->exchange(std::exchange(pending, nullptr));
      pending = co_await self->next_for(*worker);
    }
    std::erase(self->workers, worker.get());
  }

  Awaitable<PendingPtr> next_for(ClientWorker& worker) {
    if (!waiting.empty()) {
      PendingPtr next = std::move(waiting.front());
      waiting.pop_front();
      co_return next;
    }
    if (closed) co_return nullptr;
    idle.push_back(&worker);
    worker.wake.expires_after(options.idle);
    co_await worker.wake.async_wait(asio::as_tuple(asio::use_awaitable));
    std::erase(idle, &worker);
    co_return std::exchange(worker.assigned, nullptr);
  }

  void close() {
    closed = true;
    const Error why{.code = ErrorCode::cancelled, .transient = false, .detail = "the client is closed"};
    for (const PendingPtr& pending : std::exchange(waiting, {})) pending->finish(std::unexpected(why));
    for (ClientWorker* worker : std::exchange(idle, {})) worker->wake.cancel();
    for (ClientWorker* worker : workers) worker->abort(why);
  }
};

Result<std::unique_ptr<Client>> Client::make(net::IoLoop& loop, const Url& origin, ClientOptions options) {
  auto impl = std::make_shared<Impl>(loop.impl()->context, origin, std::move(options));
  if (impl->options.max_connections == 0) {
    return fail(ErrorCode::invalid_argument, "max_connections is 0; accepted: at least 1");
  }
  if (origin.tls) {
    auto tls = net::client_tls(impl->options.tls);
    if (!tls) return std::unexpected(tls.error());
    impl->tls = std::move(*tls);
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() {  // NOLINT(bugprone-exception-escape): out of memory ends the process
  asio::post(impl_->context, [impl = impl_] { impl->close(); });
}

void Client::send(Call call, Answered done) {
  auto pending = std::make_shared<Pending>(std::move(call), std::move(done));
  asio::post(impl_->context,
             [impl = impl_, pending = std::move(pending)]() mutable { impl->enqueue(std::move(pending)); });
}

}  // namespace dripgate::http
