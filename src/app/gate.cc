#include "app/gate.h"

#include <utility>

#include "app/file_counters.h"
#include "core/names.h"
#include "redis/make_client.h"
#include "runtime/redis_options.h"
#include "store/memory/stores.h"
#include "store/redis/stores.h"

namespace dripgate::app {
namespace {

std::string_view word_of(std::optional<core::FailureMode> mode) {
  return mode ? core::to_string(*mode) : "none";
}

std::string_view word_of(const check::PolicyAnswer& policy) {
  const bool allows = policy.verdict() == core::Verdict::allow;
  switch (policy.plan.role) {
    case check::Role::shadow:
      return allows ? "shadow_allowed" : "shadow_denied";
    case check::Role::unlimited:
      return "unlimited";
    case check::Role::skipped:
      return "skipped";
    case check::Role::refuses:
      return "denied";
    case check::Role::enforced:
      break;
  }
  if (policy.replayed) return "replayed";
  return allows ? "allowed" : "denied";
}

/// The loop's tasks, each under a lock.
class LockedExecutor final : public Executor {
 public:
  LockedExecutor(Executor& loop, std::mutex& mutex) : loop_(loop), mutex_(mutex) {}
  void post(Task task) override { loop_.post(locked(std::move(task))); }
  void post_after(Duration delay, Task task) override { loop_.post_after(delay, locked(std::move(task))); }

 private:
  Task locked(Task task) {
    return [&mutex = mutex_, task = std::move(task)]() mutable {
      const std::scoped_lock lock(mutex);
      task();
    };
  }

  Executor& loop_;
  std::mutex& mutex_;
};

}  // namespace

Gate::Gate(GateContext context)
    : context_(context), steady_(runtime::RealClock{}.now(), 1), local_(steady_) {}

Gate::~Gate() = default;

Result<void> Gate::open() {
  const config::ConfigPtr config = context_.snapshot.get();
  store::ShardOf shard_of = [](std::string_view) { return std::size_t{0}; };
  if (const auto* redis = std::get_if<config::RedisStore>(&config->store)) {
    if (auto opened = open_redis(*redis); !opened) return opened;
    shard_of = [client = client_.get()](std::string_view key) { return client->shard(key); };
  } else if (std::holds_alternative<config::SqliteStore>(config->store)) {
    counters_ = std::make_unique<FileCounters>(context_.io, context_.loop, context_.engine);
  } else {
    counters_ = store::make_memory_counter_store(context_.clock);
    locked_ = std::make_unique<LockedExecutor>(context_.io, checker_mutex_);
  }
  Executor& executor = locked_ != nullptr ? *locked_ : static_cast<Executor&>(context_.io);
  guarded_ = std::make_unique<store::FailoverStore>(
      *counters_, std::move(shard_of), local_, executor, steady_, core::BreakerSettings{},
      locked_ != nullptr ? store::StoreAnswers::at_once : store::StoreAnswers::in_time);
  checker_ = std::make_unique<check::Checker>(
      check::CheckerContext{.config = [this] { return context_.snapshot.get(); },
                            .store = *guarded_,
                            .clock = steady_,
                            .observer = *this,
                            .refund_key = random_hash_key()});
  return {};
}

Result<void> Gate::open_redis(const config::RedisStore& store) {
  redis::Options options = runtime::redis_options(store);
  options.timeout = store.timeout;
  auto client = redis::make_client(context_.io, std::move(options));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  counters_ = store::make_redis_counter_store(
      *client_,
      {.key_prefix = store.key_prefix, .cluster = store.layout == config::RedisStore::Layout::cluster});
  instances_ = std::make_unique<store::Instances>(*client_, context_.io, store.key_prefix,
                                                  [this](int count) { local_.set_instances(count); });
  return {};
}

void Gate::start(Task ready) {
  post([this, ready = std::move(ready)]() mutable {
    if (client_ == nullptr) return ready();
    instances_->start();
    store::load_counter_scripts(*client_, std::move(ready));
  });
}

void Gate::stop(Task done) {
  post([this, done = std::move(done)]() mutable {
    if (instances_ == nullptr) return done();
    instances_->stop(std::move(done));
  });
}

template <class T, class Ask>
Result<T> Gate::within_call(Ask ask) {
  std::optional<Result<T>> said;
  const std::scoped_lock lock(checker_mutex_);
  ask(Done<T>([&said](Result<T> answer) { said = std::move(answer); }));
  return std::move(said).value();
}

Result<check::Answer> Gate::check_now(check::Request request) {
  return within_call<check::Answer>(
      [&](Done<check::Answer> done) { checker_->check(std::move(request), std::move(done)); });
}

void Gate::check(check::Request request, Done<check::Answer> done) {
  if (answers_at_once()) return done(check_now(std::move(request)));
  checker_->check(std::move(request), std::move(done));
}

void Gate::refund(const std::string& refund_id, Done<bool> done) {
  const auto ask = [&](Done<bool> then) { checker_->refund(refund_id, std::move(then)); };
  answers_at_once() ? done(within_call<bool>(ask)) : ask(std::move(done));
}

void Gate::explain(check::Request request, Done<check::Explanation> done) {
  const auto ask = [&](Done<check::Explanation> then) {
    checker_->explain(std::move(request), std::move(then));
  };
  answers_at_once() ? done(within_call<check::Explanation>(ask)) : ask(std::move(done));
}

void Gate::on_decision(const check::Answer& answer, Duration took) {
  obs::GateMetrics& metrics = context_.metrics.gate();
  metrics.decision(check::to_string(answer.kind), word_of(answer.degraded), took);
  for (const check::PolicyAnswer& policy : answer.policies) {
    metrics.policy(policy.plan.policy->id, word_of(policy));
    if (!policy.plan.missing.empty()) metrics.missing_key(policy.plan.policy->id);
  }
}

void Gate::show_store() {
  const store::FailoverCounters& counters = guarded_->counters();
  obs::GateStoreFigures figures;
  for (std::size_t code = 0; code < store::kErrorCodes; ++code)
    figures.errors.emplace_back(to_string(static_cast<ErrorCode>(code)), counters.store_errors[code].load());
  for (const auto mode : {core::FailureMode::local, core::FailureMode::open, core::FailureMode::closed})
    figures.degraded.emplace_back(core::to_string(mode),
                                  counters.degraded[static_cast<std::size_t>(mode)].load());
  figures.breaker_openings = counters.openings.load();
  figures.probes = counters.probes.load();
  figures.refunds_lost = counters.refunds_lost.load();
  for (std::size_t shard = 0; shard < counters.shards.load(); ++shard)
    figures.breakers.push_back(static_cast<int>(counters.breakers[shard].load()));
  figures.instances = local_.instances();
  context_.metrics.gate().store(figures);
  log_degraded(figures);
}

void Gate::log_degraded(const obs::GateStoreFigures& figures) {
  std::uint64_t degraded = 0;
  for (const auto& [mode, count] : figures.degraded) degraded += count;
  const WallTime now = steady_.now();
  if (degraded == degraded_logged_) return;
  if (degraded_logged_at_ && now - *degraded_logged_at_ < kDegradedLogEvery) return;
  std::string errors;
  for (const auto& [code, count] : figures.errors)
    if (count > 0) errors += (errors.empty() ? "" : ", ") + std::string(code) + " " + std::to_string(count);
  context_.log.warn("checks decided by failure mode",
                    {{"count", degraded - degraded_logged_}, {"store_errors_so_far", errors}});
  degraded_logged_ = degraded;
  degraded_logged_at_ = now;
}

}  // namespace dripgate::app
