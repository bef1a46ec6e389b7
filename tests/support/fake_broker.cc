#include "support/fake_broker.h"

#include <algorithm>
#include <utility>

#include "base/guard.h"

namespace dripgate::testing {
namespace {

class FakePublisher final : public broker::Publisher {
 public:
  FakePublisher(FakeTopic& topic, Clock& clock, std::string name)
      : topic_(topic), clock_(clock), name_(std::move(name)) {}

  void publish(broker::Message message, Done<void> done) override {
    const std::uint64_t sequence = topic_.next++;
    if (message.id.empty()) message.id = name_ + "-" + std::to_string(sequence);
    if (topic_.ids.insert(message.id).second) {
      message.published = clock_.now();
      topic_.messages[sequence].message = std::move(message);
      for (auto* listener : topic_.listeners) (*listener)();
    }
    done({});
  }

 private:
  FakeTopic& topic_;
  Clock& clock_;
  std::string name_;
};

class FakeSource final : public broker::EventSource {
 public:
  FakeSource(FakeTopic& topic, Executor& executor) : topic_(topic), executor_(executor) {
    topic_.listeners.insert(&listener_);
  }
  ~FakeSource() override {
    topic_.listeners.erase(&listener_);
    for (auto& [token, stored] : topic_.messages) stored.out = stored.waiting = false;
  }

  void start(broker::FlowControl flow, Handler handler) override {
    flow_ = flow;
    handler_ = std::move(handler);
    look_later();
  }
  void ack(std::uint64_t token, Done<void> done) override {
    give_back(token);
    topic_.messages.erase(token);
    done({});
    look_later();
  }
  void lapse(std::uint64_t token) override {
    const auto stored = topic_.messages.find(token);
    if (stored == topic_.messages.end() || !stored->second.out) return;
    give_back(token);
    stored->second.waiting = true;
    executor_.post_after(kFakeRedeliveryDelay, guard_.wrap([this, token] {
      if (const auto it = topic_.messages.find(token); it != topic_.messages.end())
        it->second.waiting = false;
      look_later();
    }));
    look_later();
  }
  void pause() override { paused_ = true; }
  void resume() override {
    paused_ = false;
    look_later();
  }

 private:
  void give_back(std::uint64_t token) {
    const auto stored = topic_.messages.find(token);
    if (stored == topic_.messages.end() || !std::exchange(stored->second.out, false)) return;
    --outstanding_;
    bytes_ -= stored->second.message.body.size();
  }
  void look_later() {
    if (!handler_ || paused_ || std::exchange(posted_, true)) return;
    executor_.post(guard_.wrap([this] {
      posted_ = false;
      look();
    }));
  }
  void look() {
    for (auto it = topic_.messages.begin(); it != topic_.messages.end() && !paused_; ++it) {
      auto& [token, stored] = *it;
      if (stored.out || stored.waiting) continue;
      const std::size_t bytes = stored.message.body.size();
      const bool full = outstanding_ >= flow_.max_outstanding_messages ||
                        (outstanding_ > 0 && bytes_ + bytes > flow_.max_outstanding_bytes);
      if (full) return;
      stored.out = true;
      ++outstanding_;
      bytes_ += bytes;
      const int redeliveries = stored.deliveries++;
      // The handler may ack at once: one message per task.
      look_later();
      return handler_({.message = stored.message, .token = token, .redeliveries = redeliveries});
    }
  }

  FakeTopic& topic_;
  Executor& executor_;
  broker::FlowControl flow_;
  Handler handler_;
  std::size_t outstanding_ = 0;
  std::size_t bytes_ = 0;
  bool paused_ = false;
  bool posted_ = false;
  std::function<void()> listener_ = [this] { look_later(); };
  Guard guard_;
};

class FakeTimer final : public broker::Timer {
 public:
  FakeTimer(FakeTimerQueue& queue, Executor& executor, Clock& clock)
      : queue_(queue), executor_(executor), clock_(clock) {}
  ~FakeTimer() override {
    for (auto& [token, stored] : queue_.entries) stored.out = stored.waiting = false;
  }

  void schedule(broker::TimerEntry entry, Done<void> done) override {
    const std::uint64_t token = queue_.next++;
    if (queue_.ids.emplace(entry.id, token).second) {
      const WallTime due = entry.due;
      queue_.entries[token].entry = std::move(entry);
      arm(due);
    }
    done({});
  }
  void start(Handler handler) override {
    handler_ = std::move(handler);
    arm_all();
  }
  void settle(std::uint64_t token, Done<void> done) override {
    if (const auto it = queue_.entries.find(token); it != queue_.entries.end()) {
      if (it->second.out) --outstanding_;
      queue_.ids.erase(it->second.entry.id);
      queue_.entries.erase(it);
    }
    done({});
    arm(clock_.now());
  }
  void lapse(std::uint64_t token) override {
    const auto it = queue_.entries.find(token);
    if (it == queue_.entries.end() || !std::exchange(it->second.out, false)) return;
    --outstanding_;
    it->second.waiting = true;
    executor_.post_after(kFakeRedeliveryDelay, guard_.wrap([this, token] {
      if (const auto again = queue_.entries.find(token); again != queue_.entries.end()) {
        again->second.waiting = false;
      }
      arm_all();
    }));
  }
  void pause() override { paused_ = true; }
  void resume() override {
    paused_ = false;
    arm_all();
  }
  void stats(Done<broker::TimerStats> done) override {
    broker::TimerStats stats{.pending = queue_.entries.size(), .oldest_due = {}, .latest_due = {}};
    for (const auto& [token, stored] : queue_.entries) {
      stats.oldest_due = std::min(stats.oldest_due.value_or(stored.entry.due), stored.entry.due);
      stats.latest_due = std::max(stats.latest_due.value_or(stored.entry.due), stored.entry.due);
    }
    done(stats);
  }

 private:
  void arm(WallTime due) {
    if (!handler_ || paused_) return;
    executor_.post_after(std::max(due - clock_.now(), Duration{0}), guard_.wrap([this] { look(); }));
  }
  void arm_all() {
    for (const auto& [token, stored] : queue_.entries) {
      if (!stored.out && !stored.waiting) arm(stored.entry.due);
    }
  }
  /// Each armed task fires at most one entry; one that finds the clock stepped back arms again.
  void look() {
    if (!handler_ || paused_ || outstanding_ >= kFiringsOutstandingMax) return;
    FakeTimerQueue::Stored* first = nullptr;
    std::uint64_t first_token = 0;
    for (auto& [token, stored] : queue_.entries) {
      if (stored.out || stored.waiting) continue;
      if (first != nullptr && first->entry.due <= stored.entry.due) continue;
      first = &stored;
      first_token = token;
    }
    if (first == nullptr) return;
    if (first->entry.due > clock_.now()) return arm(first->entry.due);
    first->out = true;
    ++outstanding_;
    handler_({.entry = first->entry, .token = first_token});
  }

  FakeTimerQueue& queue_;
  Executor& executor_;
  Clock& clock_;
  Handler handler_;
  std::size_t outstanding_ = 0;
  bool paused_ = false;
  Guard guard_;
};

class FakeDeadLetters final : public broker::DeadLetters {
 public:
  explicit FakeDeadLetters(FakeLetters& letters) : store_(letters) {}

  void add(broker::DeadLetter letter, Done<void> done) override {
    if (store_.ids.emplace(letter.event_id, letter.generation, letter.message.body).second) {
      letter.sequence = store_.next++;
      store_.letters.emplace(letter.sequence, std::move(letter));
    }
    done({});
  }
  void list(std::uint64_t after, std::size_t count, Done<broker::DeadLetterPage> done) override {
    broker::DeadLetterPage page{.letters = {}, .total = store_.letters.size()};
    for (auto it = store_.letters.upper_bound(after);
         it != store_.letters.end() && page.letters.size() < count; ++it) {
      page.letters.push_back(it->second);
    }
    done(std::move(page));
  }
  void find(std::uint64_t sequence, Done<std::optional<broker::DeadLetter>> done) override {
    const auto it = store_.letters.find(sequence);
    done(it == store_.letters.end() ? std::nullopt : std::optional(it->second));
  }
  void remove(std::uint64_t sequence, Done<bool> done) override {
    const auto it = store_.letters.find(sequence);
    if (it == store_.letters.end()) return done(false);
    store_.ids.erase({it->second.event_id, it->second.generation, it->second.message.body});
    store_.letters.erase(it);
    done(true);
  }
  void purge(WallTime before, Done<std::uint64_t> done) override {
    const auto gone = std::erase_if(store_.letters, [&](const auto& item) {
      if (item.second.dead_at >= before) return false;
      store_.ids.erase({item.second.event_id, item.second.generation, item.second.message.body});
      return true;
    });
    done(gone);
  }

 private:
  FakeLetters& store_;
};

}  // namespace

std::unique_ptr<broker::Publisher> FakeBroker::publisher(const std::string& topic) {
  return std::make_unique<FakePublisher>(topics_[topic], clock_, topic);
}
std::unique_ptr<broker::EventSource> FakeBroker::source(const std::string& topic) {
  return std::make_unique<FakeSource>(topics_[topic], executor_);
}
std::unique_ptr<broker::Timer> FakeBroker::timer(const std::string& stream) {
  return std::make_unique<FakeTimer>(timers_[stream], executor_, clock_);
}
std::unique_ptr<broker::DeadLetters> FakeBroker::dead_letters(const std::string& topic) {
  return std::make_unique<FakeDeadLetters>(letters_[topic]);
}

}  // namespace dripgate::testing
