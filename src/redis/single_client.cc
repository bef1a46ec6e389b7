#include "redis/single_client.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "net/io_loop_impl.h"

namespace dripgate::redis {
namespace {

// The connection is held by its own coroutine: calls in flight may outlive the client by a turn.
void send(const ConnectionPtr& connection, CallPtr call) {
  const std::string_view wire = call->wire;
  const MonoTime deadline = call->deadline;
  connection->send(wire, deadline,
                   [weak = std::weak_ptr(connection), call = std::move(call)](Outcome outcome) mutable {
                     const ConnectionPtr node = weak.lock();
                     if (!outcome && node) {
                       const FailureKind kind = outcome.error().kind;
                       if (kind == FailureKind::no_script && !call->script_text.empty()) {
                         call->become_eval();
                         return send(node, std::move(call));
                       }
                       // Demoted: the name or the Sentinels may already point to the new primary.
                       if (kind == FailureKind::not_primary)
                         node->reconnect("it is not the primary any more");
                     }
                     call->finish(std::move(outcome));
                   });
}

void refuse_keyless(net::IoLoop& loop, Done<Reply> done) {
  loop.post([done = std::move(done)]() mutable {
    done(fail(ErrorCode::invalid_argument, std::string(kKeylessScript)));
  });
}

}  // namespace

SingleClient::SingleClient(net::IoLoop& loop, ConnectionPtr connection, Duration timeout, Task on_close)
    : loop_(loop), connection_(std::move(connection)), timeout_(timeout), on_close_(std::move(on_close)) {}

SingleClient::~SingleClient() {  // NOLINT(bugprone-exception-escape): out of memory ends the process
  boost::asio::post(loop_.impl()->context,
                    [connection = connection_, on_close = std::move(on_close_)]() mutable {
                      connection->close();
                      if (on_close) on_close();
                    });
}

MonoTime SingleClient::deadline(Duration timeout) const {
  return loop_.now() + (timeout > Duration{0} ? timeout : timeout_);
}

void SingleClient::command(std::string_view /*key*/, Words words, Duration timeout, Done<Reply> done) {
  send(connection_, command_call(words, deadline(timeout), std::move(done)));
}

void SingleClient::run(const Script& script, Words keys, Words arguments, Duration timeout,
                       Done<Reply> done) {
  if (keys.empty()) return refuse_keyless(loop_, std::move(done));
  send(connection_, script_call(script, keys, arguments, deadline(timeout), std::move(done)));
}

void SingleClient::each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) {
  command({}, words, kEachPrimaryTimeout,
          [connection = connection_, done = std::move(done)](Result<Reply> reply) mutable {
            std::vector<NodeReply> replies;
            replies.push_back({.node = connection->node(), .reply = std::move(reply)});
            done(std::move(replies));
          });
}

void SingleClient::when_writable(std::size_t /*shard*/, Task task) {
  connection_->when_writable(std::move(task));
}

}  // namespace dripgate::redis
