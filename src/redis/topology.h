// Topology: the nodes of a cluster with their connections, and the slot map, which is asked for again when a
// reply or a failure says that it has changed. For the Asio files of this room only; single-threaded.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "redis/connection.h"
#include "redis/slot_map.h"

namespace dripgate::redis {

class Topology : public std::enable_shared_from_this<Topology> {
 public:
  Topology(net::IoLoop& loop, std::vector<Endpoint> seeds, ConnectionSetup setup);

  void start();
  void close();

  [[nodiscard]] const SlotMap& map() const { return map_; }
  /// Where calls for the slot go: its owner; any node where none is known, which then says what to do.
  [[nodiscard]] ConnectionPtr owner_of(std::uint16_t slot);
  /// Made when it is new.
  [[nodiscard]] ConnectionPtr at(const Endpoint& node);
  [[nodiscard]] ConnectionPtr any();

  /// The owner of a slot changed, as a node said; the rest of the map is asked for.
  void moved(std::uint16_t slot, const Endpoint& primary);
  /// Asks for the map again, soon; many wishes become one look.
  void refresh();
  /// Runs once the map is known, or the look for it has failed.
  void when_known(Task task);
  /// Why the last look found nothing.
  [[nodiscard]] const Error& last_error() const { return last_error_; }

 private:
  void schedule(MonoTime when);
  void look();
  void ask(std::vector<Endpoint> candidates, std::size_t index);
  void adopt(SlotMap map);
  void end_look(bool found);

  net::IoLoop& loop_;
  std::vector<Endpoint> seeds_;
  ConnectionSetup setup_;
  SlotMap map_;
  std::map<Endpoint, ConnectionPtr> connections_;
  std::vector<Task> waiting_;
  boost::asio::steady_timer timer_;
  MonoTime due_{};  // of the next look, while none runs
  MonoTime last_look_{};
  std::uint64_t looks_ = 0;
  bool looking_ = false;
  bool closed_ = false;
  Error last_error_{};
};

}  // namespace dripgate::redis
