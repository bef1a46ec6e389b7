// Decorators that put trouble between the pipeline and its ports: a call fails before or after it happened,
// its answer comes late or in another task, deliveries and firings come twice, timers come early, late or
// never.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/guard.h"
#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/timer.h"
#include "drip/pipeline.h"
#include "sim/plan.h"
#include "store/booking_store.h"

namespace dripgate::sim {

/// What the troubles of this moment are; shared by all decorators of one life of the pipeline.
struct Trouble {
  Trouble(Executor& on, Dice& thrown, Troubles first) : executor(on), dice(thrown), now(first) {}

  Executor& executor;
  Dice& dice;
  Troubles now;  // all zero once they have ended
  bool letters_down = false;
  std::set<std::string> lost_events;  // whose timer entry was lost
  std::map<std::string, bool> accepted_entries;
  std::function<void(const std::string&)> narrate;

  void note(const std::string& line) const {
    if (narrate) narrate(line);
  }
  /// A timer that refuses an entry for good refuses it each time.
  bool accepts(const std::string& entry) {
    return accepted_entries.emplace(entry, !dice.chance(now.timer_refused, 1000)).first->second;
  }
  Guard guard;  // answers that are on their way end with the life
};

/// One call under trouble. Answers are posted half of the time and calls a quarter, so that a kill fits
/// between any two steps.
template <class T>
void disturb(Trouble& trouble, Done<T> done, std::move_only_function<void(Done<T>)> call) {
  const auto down = [] {
    return Result<T>(fail(ErrorCode::unavailable, "sim: the port is down", /*transient=*/true));
  };
  const auto unknown = [] {
    return Result<T>(fail(ErrorCode::timed_out, "sim: the reply was lost", /*transient=*/true));
  };
  Done<T> reply = std::move(done);
  if (trouble.dice.chance(trouble.now.reply_late, 1000) || trouble.dice.chance(1, 2)) {
    const bool late = trouble.dice.chance(trouble.now.reply_late, 1000);
    const Duration delay = late ? trouble.dice.span(1ms, 2s) : 0us;
    reply = [&trouble, delay, inner = std::move(reply)](Result<T> answer) mutable {
      trouble.executor.post_after(
          delay, trouble.guard.wrap([inner = std::move(inner), answer = std::move(answer)]() mutable {
            inner(std::move(answer));
          }));
    };
  }
  if (trouble.dice.chance(trouble.now.port_fails, 1000)) return reply(down());
  if (trouble.dice.chance(1, 4)) {
    call = [&trouble, start = std::move(call)](Done<T> answered) mutable {
      trouble.executor.post(
          trouble.guard.wrap([start = std::move(start), answered = std::move(answered)]() mutable {
            start(std::move(answered));
          }));
    };
  }
  if (trouble.dice.chance(trouble.now.reply_lost, 1000)) {
    return call(Done<T>([reply = std::move(reply), unknown](Result<T>) mutable { reply(unknown()); }));
  }
  call(std::move(reply));
}

class FaultyStore final : public store::BookingStore {
 public:
  FaultyStore(store::BookingStore& inner, Trouble& trouble) : inner_(inner), trouble_(trouble) {}

  void reserve(store::ReserveRequest request, Done<core::ReserveAnswer> done) override {
    disturb<core::ReserveAnswer>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.reserve(std::move(request), std::move(answered));
    });
  }
  void gate(store::GateRequest request, Done<core::GateAnswer> done) override {
    disturb<core::GateAnswer>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.gate(std::move(request), std::move(answered));
    });
  }
  void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> settled) override {
    disturb<void>(trouble_, std::move(settled), [=, this](auto answered) mutable {
      inner_.done(key, event_id, generation, std::move(answered));
    });
  }
  void release(std::string key, std::string event_id, std::uint32_t generation, core::BookingPolicyPtr policy,
               Done<void> done) override {
    disturb<void>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.release(key, event_id, generation, policy, std::move(answered));
    });
  }
  void freeze(std::string key, WallTime until, Done<void> done) override {
    disturb<void>(trouble_, std::move(done),
                  [=, this](auto answered) mutable { inner_.freeze(key, until, std::move(answered)); });
  }
  void thaw(std::string key, Done<void> done) override { inner_.thaw(std::move(key), std::move(done)); }
  void reset(std::string key, Done<void> done) override { inner_.reset(std::move(key), std::move(done)); }
  void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) override {
    disturb<core::KeyView>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.inspect(key, policy, std::move(answered));
    });
  }

 private:
  store::BookingStore& inner_;
  Trouble& trouble_;
};

class FaultyPublisher final : public broker::Publisher {
 public:
  FaultyPublisher(broker::Publisher& inner, Trouble& trouble) : inner_(inner), trouble_(trouble) {}
  void publish(broker::Message message, Done<void> done) override {
    disturb<void>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.publish(std::move(message), std::move(answered));
    });
  }

 private:
  broker::Publisher& inner_;
  Trouble& trouble_;
};

class FaultyLetters final : public broker::DeadLetters {
 public:
  FaultyLetters(broker::DeadLetters& inner, Trouble& trouble) : inner_(inner), trouble_(trouble) {}
  void add(broker::DeadLetter letter, Done<void> done) override {
    if (trouble_.letters_down) {
      return done(fail(ErrorCode::unavailable, "sim: dead letters are down", /*transient=*/true));
    }
    disturb<void>(trouble_, std::move(done),
                  [=, this](auto answered) mutable { inner_.add(std::move(letter), std::move(answered)); });
  }
  void list(std::uint64_t after, std::size_t count, Done<broker::DeadLetterPage> done) override {
    inner_.list(after, count, std::move(done));
  }
  void find(std::uint64_t sequence, Done<std::optional<broker::DeadLetter>> done) override {
    inner_.find(sequence, std::move(done));
  }
  void remove(std::uint64_t sequence, Done<bool> done) override { inner_.remove(sequence, std::move(done)); }
  void purge(WallTime before, Done<std::uint64_t> done) override { inner_.purge(before, std::move(done)); }

 private:
  broker::DeadLetters& inner_;
  Trouble& trouble_;
};

class FaultySource final : public broker::EventSource {
 public:
  FaultySource(broker::EventSource& inner, Trouble& trouble) : inner_(inner), trouble_(trouble) {}
  void start(broker::FlowControl flow, Handler handler) override {
    inner_.start(flow, [this, handler = std::move(handler)](broker::Delivery delivery) {
      if (!trouble_.dice.chance(trouble_.now.duplicated, 1000)) return handler(std::move(delivery));
      broker::Delivery again = delivery;
      again.redeliveries += 1;
      handler(std::move(delivery));
      trouble_.executor.post(
          trouble_.guard.wrap([handler, again = std::move(again)]() mutable { handler(std::move(again)); }));
    });
  }
  void ack(std::uint64_t token, Done<void> done) override {
    if (trouble_.dice.chance(trouble_.now.ack_fails, 1000)) {
      inner_.lapse(token);
      return done(fail(ErrorCode::unavailable, "sim: the ack failed", /*transient=*/true));
    }
    disturb<void>(trouble_, std::move(done),
                  [=, this](auto answered) mutable { inner_.ack(token, std::move(answered)); });
  }
  void lapse(std::uint64_t token) override { inner_.lapse(token); }
  void pause() override { inner_.pause(); }
  void resume() override { inner_.resume(); }

 private:
  broker::EventSource& inner_;
  Trouble& trouble_;
};

class FaultyTimer final : public broker::Timer {
 public:
  FaultyTimer(broker::Timer& inner, Trouble& trouble) : inner_(inner), trouble_(trouble) {}
  void schedule(broker::TimerEntry entry, Done<void> done) override {
    Dice& dice = trouble_.dice;
    if (!trouble_.accepts(entry.id)) {
      return done(fail(ErrorCode::invalid_argument, "sim: this entry is refused for good"));
    }
    if (dice.chance(trouble_.now.timer_lost, 1000)) {
      trouble_.lost_events.insert(*broker::find(entry.message.attributes, "dripgate-id"));
      return done({});
    }
    if (dice.chance(trouble_.now.timer_early, 1000)) entry.due -= dice.span(1us, 2s);
    if (dice.chance(trouble_.now.timer_late, 1000)) entry.due += dice.span(1us, 8s);
    trouble_.note("timer entry " + entry.id.substr(entry.id.find('-')) + " of " +
                  *broker::find(entry.message.attributes, "dripgate-id"));
    disturb<void>(trouble_, std::move(done), [=, this](auto answered) mutable {
      inner_.schedule(std::move(entry), std::move(answered));
    });
  }
  void start(Handler handler) override {
    inner_.start([this, handler = std::move(handler)](broker::FiredEntry fired) {
      if (!trouble_.dice.chance(trouble_.now.duplicated, 1000)) return handler(std::move(fired));
      broker::FiredEntry again = fired;
      handler(std::move(fired));
      trouble_.executor.post(
          trouble_.guard.wrap([handler, again = std::move(again)]() mutable { handler(std::move(again)); }));
    });
  }
  void settle(std::uint64_t token, Done<void> done) override {
    disturb<void>(trouble_, std::move(done),
                  [=, this](auto answered) mutable { inner_.settle(token, std::move(answered)); });
  }
  void lapse(std::uint64_t token) override { inner_.lapse(token); }
  void pause() override { inner_.pause(); }
  void resume() override { inner_.resume(); }
  void stats(Done<broker::TimerStats> done) override { inner_.stats(std::move(done)); }

 private:
  broker::Timer& inner_;
  Trouble& trouble_;
};

}  // namespace dripgate::sim
