// EventSource over a topic on Redis Streams. What was read waits here until flow control lets it out; what
// lapsed stays in this consumer's hands, its lease renewed, until its delay is over. Looks are posted tasks,
// one read per lane at a time. On the client's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/event_source.h"
#include "broker/leases.h"
#include "broker/redis_streams/holdings.h"
#include "broker/redis_streams/lane.h"

namespace dripgate::broker::redis_streams {

/// Between two polls of an empty lane: doubled from one to the other.
inline constexpr Duration kPollMin = 1ms;
inline constexpr Duration kPollMax = 25ms;
/// After an error: the same, up to here.
inline constexpr Duration kErrorWaitMax = 1s;

class TopicSource final : public EventSource, public Listener {
 public:
  TopicSource(ContextPtr context, const std::string& topic);
  ~TopicSource() override;
  TopicSource(const TopicSource&) = delete;
  TopicSource& operator=(const TopicSource&) = delete;

  void start(FlowControl flow, Handler handler) override;
  void ack(std::uint64_t token, Done<void> done) override;
  void lapse(std::uint64_t token) override;
  void pause() override { paused_ = true; }
  void resume() override;

  void wake() override;

 private:
  struct Reader {
    Reader(ContextPtr context, const std::string& topic, std::size_t partition)
        : lane(std::move(context), topic, partition) {}
    Lane lane;
    std::size_t asked = 0;    // entries of the read on its way
    bool fresh = true;        // worth a read at once
    Duration wait{0};         // of the last empty or failed one
    std::uint64_t polls = 0;  // only the latest wait counts
  };
  struct Waiting {
    std::uint64_t token = 0;
    Message message;
    std::size_t bytes = 0;
  };

  void post_look();
  void look();
  bool hand_out();
  void reread_ready();
  void read(std::size_t index);
  void read_done(std::size_t index, bool history, Result<Lane::Entries> entries);
  void take(std::size_t index, Lane::Entries entries, int before);
  void wait_and_read(std::size_t index, Duration most);
  void reread_done(const std::vector<std::string>& ids, const std::vector<std::uint64_t>& tokens,
                   Result<Lane::Entries> entries);
  void claim(std::size_t index, int looks);
  void keep_round();
  void drop(std::uint64_t token);
  void put_waiting(std::uint64_t token, const std::string& entry_id, std::vector<std::string> words);
  [[nodiscard]] Message message_of(std::size_t lane, const std::string& entry_id,
                                   std::vector<std::string> words) const;
  [[nodiscard]] bool has_room(std::size_t bytes) const;
  [[nodiscard]] std::size_t read_room() const;
  [[nodiscard]] bool is_pulling() const { return handler_ != nullptr && !paused_; }

  ContextPtr context_;
  std::shared_ptr<Wakeups::Listeners> listeners_;
  std::deque<Reader> readers_;
  FlowControl flow_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this source while it runs
  Holdings holdings_;
  Leases leases_;  // by token
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t asked_ = 0;             // entries of all reads on their way
  std::size_t typical_bytes_ = 4096;  // of a message, as lately seen
  std::uint64_t rounds_ = 0;          // of lease keeping
  std::size_t looks_ = 0;
  bool paused_ = false;
  bool look_posted_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
