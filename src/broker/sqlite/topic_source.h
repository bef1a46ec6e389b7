// EventSource over a topic of the embedded file. Looks are posted tasks: each hands out lapsed messages that
// are due again, then reads on from the cursor. Everything before the cursor is claimed, lapsed or gone, so a
// look costs what it hands out, whatever the backlog. On the database's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/event_source.h"
#include "broker/leases.h"
#include "broker/sqlite/context.h"

namespace dripgate::broker::sqlite {

/// Rows that one look reads; the next look is another task.
inline constexpr std::size_t kSourceReadBatch = 32;
/// After the file could not be read.
inline constexpr Duration kLookRetryDelay = 1s;

class TopicSource final : public EventSource, public Listener, public db::Participant {
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
  Result<void> flush() override { return {}; }
  void forget() override;

 private:
  struct Row {
    std::int64_t sequence = 0;
    Message message;
  };

  void post_look();
  void look();
  Result<void> read(std::vector<Row>& rows);
  Result<void> read_lapsed(std::vector<Row>& rows);
  Result<void> read_on(std::vector<Row>& rows);
  void read_unwritten(std::vector<Row>& rows, std::size_t limit);
  bool claim(std::int64_t sequence, Message message, std::vector<Row>& rows);
  bool hand_out(std::vector<Row> rows);
  void unclaim(std::int64_t sequence);
  void made_room();
  void hold();
  [[nodiscard]] bool has_room(std::size_t bytes) const;
  [[nodiscard]] bool is_pulling() const { return handler_ != nullptr && !paused_; }

  ContextPtr context_;
  Scope& scope_;
  std::shared_ptr<Wakeups::Listeners> listeners_;
  FlowControl flow_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this source while it runs
  Leases leases_;
  std::int64_t cursor_ = 0;  // rows up to here are claimed, lapsed or gone
  bool paused_ = false;
  bool look_posted_ = false;
  bool caught_up_ = false;  // nothing behind the cursor until a wake
  bool blocked_ = false;    // no room until something is settled
  bool held_ = false;       // the disk is full: no more in this turn
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::sqlite
