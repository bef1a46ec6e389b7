#include "redis/cluster_client.h"

#include <array>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/io_loop_impl.h"
#include "redis/encode.h"
#include "redis/slots.h"

namespace dripgate::redis {
namespace {

// MOVED and ASK that one call follows: one is usual, more only while slots move.
constexpr int kRedirectsMax = 3;
// After TRYAGAIN: the rest of the keys is on its way.
constexpr Duration kTryAgainAfter = 1ms;

const std::string kAsking = encode(std::array<std::string_view, 1>{"ASKING"});

bool may_be_another_map(const Failure& failure) {
  return failure.kind != FailureKind::refused && failure.error.code != ErrorCode::full &&
         failure.error.code != ErrorCode::cancelled;
}

Failure closed_before_sent() {
  Failure failure = unsent(ErrorCode::cancelled, "cluster", "the client is closed");
  failure.error.transient = false;
  return failure;
}

void refuse_later(net::IoLoop& loop, Done<Reply> done, std::string why) {
  loop.post([done = std::move(done), why = std::move(why)]() mutable {
    done(fail(ErrorCode::invalid_argument, std::move(why)));
  });
}

}  // namespace

/// Sends a call where it belongs, and again where its answer says so.
class ClusterClient::Router : public std::enable_shared_from_this<Router> {
 public:
  Router(net::IoLoop& loop, std::shared_ptr<Topology> topology)
      : loop_(loop), topology_(std::move(topology)) {}

  void route(CallPtr call) {
    const ConnectionPtr node = topology_->owner_of(call->slot);
    send(node, std::move(call), false);
  }

 private:
  void send(const ConnectionPtr& node, CallPtr call, bool asking) {
    const std::string_view wire = call->wire;
    const MonoTime deadline = call->deadline;
    // Both in a row on one connection: ASKING holds for the command right behind it.
    if (asking) node->send(kAsking, deadline, [](const Outcome&) {});
    node->send(wire, deadline,
               [weak = weak_from_this(), weak_node = std::weak_ptr(node), call = std::move(call),
                asking](Outcome outcome) mutable {
                 const auto self = weak.lock();  // gone: the client is closing
                 const ConnectionPtr asked = weak_node.lock();
                 if (outcome || !self || !asked) return call->finish(std::move(outcome));
                 self->failed(asked, std::move(call), asking, std::move(outcome.error()));
               });
  }

  void failed(const ConnectionPtr& node, CallPtr call, bool asking, Failure failure) {
    switch (failure.kind) {
      case FailureKind::no_script:
        if (call->script_text.empty()) break;
        call->become_eval();
        return send(node, std::move(call), asking);
      case FailureKind::moved:
      case FailureKind::ask:
        if (++call->redirects > kRedirectsMax) break;
        return follow(*node, std::move(call), failure);
      case FailureKind::try_again:
        // As long as the answer may still come in time.
        if (loop_.now() + 2 * kTryAgainAfter >= call->deadline) break;
        return loop_.post_after(kTryAgainAfter, [weak = weak_from_this(), call = std::move(call)]() mutable {
          if (const auto self = weak.lock()) return self->route(std::move(call));
          call->finish(std::unexpected(closed_before_sent()));
        });
      default:
        break;
    }
    if (may_be_another_map(failure)) topology_->refresh();
    call->finish(std::unexpected(std::move(failure)));
  }

  void follow(const Connection& from, CallPtr call, const Failure& failure) {
    Endpoint target = failure.target;
    if (target.host.empty()) target.host = parse_endpoint(from.node()).value_or(Endpoint{}).host;
    if (failure.kind == FailureKind::ask) return send(topology_->at(target), std::move(call), true);
    topology_->moved(call->slot, target);
    route(std::move(call));
  }

  net::IoLoop& loop_;
  std::shared_ptr<Topology> topology_;
};

ClusterClient::ClusterClient(net::IoLoop& loop, std::shared_ptr<Topology> topology, Duration timeout)
    : loop_(loop),
      topology_(std::move(topology)),
      router_(std::make_shared<Router>(loop, topology_)),
      timeout_(timeout) {}

ClusterClient::~ClusterClient() {  // NOLINT(bugprone-exception-escape): out of memory ends the process
  boost::asio::post(loop_.impl()->context, [topology = topology_] { topology->close(); });
}

MonoTime ClusterClient::deadline(Duration timeout) const {
  return loop_.now() + (timeout > Duration{0} ? timeout : timeout_);
}

void ClusterClient::command(std::string_view key, Words words, Duration timeout, Done<Reply> done) {
  CallPtr call = command_call(words, deadline(timeout), std::move(done));
  call->slot = slot_of(key);
  router_->route(std::move(call));
}

void ClusterClient::run(const Script& script, Words keys, Words arguments, Duration timeout,
                        Done<Reply> done) {
  if (keys.empty()) return refuse_later(loop_, std::move(done), std::string(kKeylessScript));
  const std::uint16_t slot = slot_of(keys.front());
  for (const std::string_view key : keys.subspan(1)) {
    if (slot_of(key) == slot) continue;
    return refuse_later(loop_, std::move(done),
                        "CROSSSLOT: the keys '" + std::string(keys.front()) + "' and '" + std::string(key) +
                            "' of one script are in different slots; accepted: keys with one hash tag");
  }
  CallPtr call = script_call(script, keys, arguments, deadline(timeout), std::move(done));
  call->slot = slot;
  router_->route(std::move(call));
}

namespace {

struct Gathered {
  std::vector<NodeReply> replies;
  std::size_t open = 0;
  std::move_only_function<void(std::vector<NodeReply>)> done;
};

void ask_each(const std::shared_ptr<Topology>& topology, const std::string& wire, MonoTime deadline,
              const std::shared_ptr<Gathered>& gathered) {
  const std::vector<Endpoint> primaries = topology->map().primaries();
  for (const Endpoint& node : primaries) gathered->replies.push_back({.node = node.text(), .reply = Reply{}});
  gathered->open = primaries.size();
  for (std::size_t i = 0; i < primaries.size(); ++i) {
    topology->at(primaries[i])
        ->send(wire, deadline, [weak = std::weak_ptr(topology), gathered, i](Outcome outcome) {
          Result<Reply>& reply = gathered->replies[i].reply;
          if (outcome) {
            reply = std::move(*outcome);
          } else {
            const auto held = weak.lock();
            if (held && may_be_another_map(outcome.error())) held->refresh();
            reply = std::unexpected(std::move(outcome.error().error));
          }
          if (--gathered->open == 0) gathered->done(std::move(gathered->replies));
        });
  }
}

}  // namespace

void ClusterClient::each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) {
  auto gathered = std::make_shared<Gathered>();
  gathered->done = std::move(done);
  topology_->when_known(
      [topology = topology_, wire = encode(words), end = deadline(kEachPrimaryTimeout), gathered]() mutable {
        if (!topology->map().empty()) return ask_each(topology, wire, end, gathered);
        gathered->replies.push_back(
            {.node = topology->any()->node(), .reply = std::unexpected(topology->last_error())});
        gathered->done(std::move(gathered->replies));
      });
}

std::size_t ClusterClient::shard(std::string_view key) const {
  return topology_->map().shard(slot_of(key));
}

std::size_t ClusterClient::shards() const {
  return std::max<std::size_t>(1, topology_->map().primaries().size());
}

void ClusterClient::when_writable(std::size_t shard, Task task) {
  const auto primary = topology_->map().primary_of(shard);
  const ConnectionPtr node =
      primary ? topology_->at(topology_->map().primaries()[*primary]) : topology_->any();
  node->when_writable(std::move(task));
}

}  // namespace dripgate::redis
