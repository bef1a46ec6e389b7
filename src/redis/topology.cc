#include "redis/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "net/io_loop_impl.h"
#include "redis/encode.h"

namespace dripgate::redis {
namespace {

// One node's answer to CLUSTER SLOTS; then the next is asked.
constexpr Duration kLookTimeout = 250ms;
// Between two looks, however often calls fail.
constexpr Duration kLookApart = 100ms;
// After a look that found nobody, and when nothing gave a reason.
constexpr Duration kLookAgain = 500ms;
constexpr Duration kLookAnyway = 30s;

const std::string kClusterSlots = encode(std::array<std::string_view, 2>{"CLUSTER", "SLOTS"});

}  // namespace

Topology::Topology(net::IoLoop& loop, std::vector<Endpoint> seeds, ConnectionSetup setup)
    : loop_(loop), seeds_(std::move(seeds)), setup_(std::move(setup)), timer_(loop.impl()->context) {}

void Topology::start() {
  look();
}

void Topology::close() {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  for (const auto& [node, connection] : connections_) connection->close();
  end_look(false);
}

ConnectionPtr Topology::at(const Endpoint& node) {
  ConnectionPtr& connection = connections_[node];
  if (!connection) {
    ++setup_.seed;
    connection = std::make_shared<Connection>(loop_, node.text(), always_at(node), setup_);
    if (closed_) {
      connection->close();
    } else {
      connection->start();
    }
  }
  return connection;
}

ConnectionPtr Topology::any() {
  const std::vector<Endpoint>& known = map_.empty() ? seeds_ : map_.primaries();
  return at(known[looks_ % known.size()]);
}

ConnectionPtr Topology::owner_of(std::uint16_t slot) {
  const auto owner = map_.owner(slot);
  return owner ? at(map_.primaries()[*owner]) : any();
}

void Topology::moved(std::uint16_t slot, const Endpoint& primary) {
  map_.assign(slot, primary);
  refresh();
}

void Topology::refresh() {
  if (looking_ || closed_) return;
  schedule(std::max(loop_.now(), last_look_ + kLookApart));
}

void Topology::when_known(Task task) {
  if (!map_.empty() || closed_) return loop_.post(std::move(task));
  waiting_.push_back(std::move(task));
  refresh();
}

void Topology::schedule(MonoTime when) {
  if (closed_ || (due_ != MonoTime{} && due_ <= when)) return;
  due_ = when;
  timer_.expires_at(when);
  timer_.async_wait([weak = weak_from_this(), when](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self && self->due_ == when && !self->closed_) self->look();
  });
}

// Primaries first, another one each time; the seeds when nobody else answers.
void Topology::look() {
  due_ = {};
  looking_ = true;
  last_look_ = loop_.now();
  std::vector<Endpoint> candidates = map_.primaries();
  if (!candidates.empty())
    std::ranges::rotate(candidates,
                        candidates.begin() + static_cast<std::ptrdiff_t>(looks_ % candidates.size()));
  for (const Endpoint& seed : seeds_) {
    if (std::ranges::find(candidates, seed) == candidates.end()) candidates.push_back(seed);
  }
  ++looks_;
  ask(std::move(candidates), 0);
}

void Topology::ask(std::vector<Endpoint> candidates, std::size_t index) {
  if (index == candidates.size()) return end_look(false);
  const Endpoint node = candidates[index];
  at(node)->send(kClusterSlots, loop_.now() + kLookTimeout,
                 [weak = weak_from_this(), host = node.host, candidates = std::move(candidates),
                  index](Outcome outcome) mutable {
                   const auto self = weak.lock();
                   if (!self || self->closed_) return;
                   Result<SlotMap> map = outcome ? SlotMap::parse(*outcome, host)
                                                 : std::unexpected(std::move(outcome.error().error));
                   if (map) return self->adopt(std::move(*map));
                   self->last_error_ = std::move(map.error());
                   self->ask(std::move(candidates), index + 1);
                 });
}

void Topology::adopt(SlotMap map) {
  map.keep_numbers(map_);
  map_ = std::move(map);
  for (const Endpoint& primary : map_.primaries()) (void)at(primary);
  std::erase_if(connections_, [&](const auto& entry) {
    const auto& [node, connection] = entry;
    if (std::ranges::binary_search(map_.primaries(), node) || !connection->idle()) return false;
    connection->close();
    return true;
  });
  end_look(true);
}

void Topology::end_look(bool found) {
  looking_ = false;
  for (Task& task : std::exchange(waiting_, {})) task();
  schedule(loop_.now() + (found ? kLookAnyway : kLookAgain));
}

}  // namespace dripgate::redis
