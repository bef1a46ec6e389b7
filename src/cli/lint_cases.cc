#include "cli/lint_cases.h"

#include <fmt/format.h>

#include "store/failover/failover_store.h"
#include "store/memory/stores.h"

namespace dripgate::cli {
namespace {

/// 2027-01-15T08:00:00Z, a whole minute and hour: cases see windows from their beginning.
constexpr WallTime kStart{std::chrono::seconds{1'800'000'000}};
constexpr std::size_t kKeysMax = 1'000'000;

class CaseClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return now_; }
  void set(WallTime now) { now_ = now; }

 private:
  WallTime now_ = kStart;
};

/// Only breakers post, and this store never fails.
class NoTimers final : public Executor {
 public:
  void post(Task) override {}
  void post_after(Duration, Task) override {}
};

class Nobody final : public check::Observer {
 public:
  void on_decision(const check::Answer&, Duration) override {}
};

/// One process' gate, all in this thread: every call answers within itself.
struct CaseGate {
  explicit CaseGate(config::ConfigPtr c) : config(std::move(c)) {}

  Result<check::Answer> ask(check::Request request) {
    Result<check::Answer> answer = fail(ErrorCode::unavailable, "not answered");
    checker.check(std::move(request), [&](Result<check::Answer> got) { answer = std::move(got); });
    return answer;
  }

  config::ConfigPtr config;
  CaseClock clock;
  NoTimers executor;
  Nobody observer;
  std::unique_ptr<store::CounterStore> memory = store::make_memory_counter_store(clock, kKeysMax);
  store::LocalCounters local{clock, kKeysMax};
  store::FailoverStore store{*memory, [](std::string_view) { return std::size_t{0}; }, local, executor,
                             clock};
  check::Checker checker{{.config = [this] { return config; },
                          .store = store,
                          .clock = clock,
                          .observer = observer,
                          .refund_key = random_hash_key()}};
};

}  // namespace

Result<std::vector<std::string>> run_cases(config::ConfigPtr config, const std::vector<CaseLine>& lines) {
  CaseGate gate(std::move(config));
  std::vector<std::string> differences;
  for (const CaseLine& line : lines) {
    gate.clock.set(kStart + line.at);
    for (std::int64_t time = 1; time <= line.times; ++time) {
      const auto answer = gate.ask(line.request);
      if (!answer)
        return fail(answer.error().code, fmt::format("line {}: {}", line.number, answer.error().detail));
      const std::string found = difference(line, *answer);
      if (found.empty()) continue;
      const std::string which = line.times == 1 ? "" : fmt::format(" ({} of {}x)", time, line.times);
      differences.push_back(fmt::format("line {}{}: {}", line.number, which, found));
      break;
    }
  }
  return differences;
}

}  // namespace dripgate::cli
