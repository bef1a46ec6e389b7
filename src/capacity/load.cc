#include "capacity/load.h"

#include <algorithm>
#include <utility>

#include <sys/resource.h>

#include "capacity/drive.h"
#include "capacity/servers.h"

namespace dripgate::capacity {
namespace {

/// CPU that this process has used.
Duration own_cpu() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + Duration{time.tv_usec};
  };
  return of(use.ru_utime) + of(use.ru_stime);
}

double seconds(Duration span) {
  return static_cast<double>(span.count()) / 1e6;
}

}  // namespace

void LoadMaker::send(const AnswersPtr& answers, std::size_t key, MonoTime due, Task then) {
  ++answers->sent;
  next_site_ = (next_site_ + 1) % options_.connections;
  sites_.store(next_site_)
      .consume(keys_.charges(key), [this, answers, home = keys_.home(key), due,
                                    then = std::move(then)](Result<core::Decision> decision) mutable {
        const MonoTime now = loop_.now();
        Answers::Home& of = answers->homes[home];
        if (decision) {
          ++answers->answered;
          if (!of.first_answered) of.first_answered = now;
          of.took.add(now - due);
          if (now - due > options_.late) ++answers->late;
        } else {
          ++answers->failed;
          ++of.failed;
          if (answers->failure.empty()) answers->failure = std::move(decision.error().detail);
        }
        if (then) then();
      });
}

void LoadMaker::offer(const AnswersPtr& answers, double per_second) {
  struct Plan {
    MonoTime start, end, next;
    double owed = 0;  // calls of the group that is due, the part of one included
    std::function<void()> tick;
  };
  auto plan = std::make_shared<Plan>();
  plan->start = plan->next = loop_.now();
  plan->end = plan->start + options_.step;
  plan->tick = [this, answers, per_second, weak = std::weak_ptr(plan)] {
    const auto held = weak.lock();
    if (!held) return;
    for (; held->next <= loop_.now() && held->next < held->end; held->next += kSendEvery) {
      held->owed += per_second * seconds(kSendEvery);
      for (; held->owed >= 1; held->owed -= 1) send(answers, random_() % keys_.size(), held->next, {});
    }
    if (held->next < held->end) loop_.post_after(held->next - loop_.now(), [held] { held->tick(); });
  };
  plan->tick();
  (void)drive(loop_, [&] { return plan->next >= plan->end; }, options_.step + kPhaseMax);
}

void LoadMaker::follow(const AnswersPtr& answers) {
  struct Chain {
    MonoTime end;
    std::function<void()> next;
  };
  auto chain = std::make_shared<Chain>();
  chain->end = loop_.now() + options_.step;
  chain->next = [this, answers, weak = std::weak_ptr(chain)] {
    const auto held = weak.lock();
    if (!held || loop_.now() >= held->end) return;
    send(answers, random_() % keys_.size(), loop_.now(), [held] { held->next(); });
  };
  for (std::size_t i = 0; i < options_.connections * kOpenEach; ++i) chain->next();
  (void)drive(loop_, [&] { return loop_.now() >= chain->end; }, 2 * options_.step);
}

Step LoadMaker::run(int percent, std::int64_t peak) {
  const double offered = static_cast<double>(peak) * percent / 100;
  auto answers = std::make_shared<Answers>();
  answers->homes.resize(keys_.homes());
  const ServerUse before = ask_use(loop_, sites_.client());
  const Duration own_before = own_cpu();
  const MonoTime start = loop_.now();
  percent > 0 ? offer(answers, offered) : follow(answers);
  // The last calls end with their timeout; the bound is for a machine that stands still.
  (void)drive(loop_, [&] { return answers->answered + answers->failed == answers->sent; }, kPhaseMax);
  const Duration spent = std::max<Duration>(loop_.now() - start, options_.step);
  const Duration own = own_cpu() - own_before;
  const ServerUse after = ask_use(loop_, sites_.client());
  Step step = step_of(*answers, percent, offered, spent);
  step.own_cpu_share = seconds(own) / seconds(spent);
  if (before.cpu_us && after.cpu_us && before.nodes == after.nodes && step.answered > 0)
    step.redis_us_per_call = (*after.cpu_us - *before.cpu_us) / static_cast<double>(step.answered);
  first_answers_.clear();
  for (const Answers::Home& home : answers->homes) first_answers_.push_back(home.first_answered);
  return step;
}

Step LoadMaker::step_of(const Answers& answers, int percent, double offered, Duration spent) const {
  Step step;
  step.percent = percent;
  step.offered_per_second = offered;
  step.answered = answers.answered;
  step.failed = answers.failed;
  step.failure = answers.failure;
  step.answered_per_second = static_cast<double>(answers.answered) / seconds(spent);
  if (answers.answered > 0)
    step.late_share = static_cast<double>(answers.late) / static_cast<double>(answers.answered);
  Histogram all;
  for (const Answers::Home& home : answers.homes) {
    all.merge(home.took);
    step.shards.push_back({.answered_per_second = static_cast<double>(home.took.count()) / seconds(spent),
                           .failed = home.failed,
                           .p99 = home.took.at(0.99)});
  }
  step.p50 = all.at(0.5);
  step.p95 = all.at(0.95);
  step.p99 = all.at(0.99);
  return step;
}

bool LoadMaker::for_all(std::function<void(std::size_t connection, std::size_t key, Task done)> begin) {
  struct Round {
    std::size_t begun = 0, done = 0;
    std::function<void(std::size_t)> next;
  };
  auto round = std::make_shared<Round>();
  round->next = [count = keys_.size(), begin = std::move(begin),
                 weak = std::weak_ptr(round)](std::size_t connection) {
    const auto held = weak.lock();
    if (!held || held->begun == count) return;
    begin(connection, held->begun++, [held, connection] {
      ++held->done;
      held->next(connection);
    });
  };
  for (std::size_t i = 0; i < options_.connections * kOpenEach; ++i) round->next(i % options_.connections);
  return drive(loop_, [&] { return round->done == keys_.size(); }, kPhaseMax);
}

bool LoadMaker::touch_all() {
  auto failed = std::make_shared<std::size_t>(0);
  const bool all = for_all([this, failed](std::size_t connection, std::size_t key, Task done) {
    sites_.store(connection)
        .consume(keys_.charges(key),
                 [failed, done = std::move(done)](const Result<core::Decision>& decision) mutable {
                   if (!decision) ++*failed;
                   done();
                 });
  });
  return all && *failed == 0;
}

std::size_t LoadMaker::remove_all() {
  auto removed = std::make_shared<std::size_t>(0);
  (void)for_all([this, removed](std::size_t connection, std::size_t key, Task done) {
    sites_.store(connection)
        .reset(keys_.key(key), [removed, done = std::move(done)](const Result<void>& gone) mutable {
          if (gone) ++*removed;
          done();
        });
  });
  return keys_.size() - *removed;
}

}  // namespace dripgate::capacity
