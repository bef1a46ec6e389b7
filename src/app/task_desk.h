// TaskDesk: Cloud Tasks in one process: the channel over which timers create tasks, the keys by which their
// pushes are known, and the way of a push to the timer of its stream. Opened by App before the loops run.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "app/health.h"
#include "auth/key_ring.h"
#include "broker/cloud_tasks/tasks_timer.h"
#include "config/config.h"
#include "http/client.h"
#include "obs/log.h"
#include "server/task_service.h"

namespace dripgate::app {

inline constexpr Duration kKeysTimeout = 10s;
inline constexpr std::size_t kKeysBytesMax = 1u << 20;

struct TaskDeskContext {
  Executor& loop;   // of the timers
  net::IoLoop& io;  // fetches the keys
  Clock& clock;
  Health& health;
  obs::Log& log;
};

class TaskDesk final : public server::TaskService {
 public:
  explicit TaskDesk(TaskDeskContext context) : context_(context) {}

  /// A stream of the config has its timer on Cloud Tasks.
  [[nodiscard]] static bool needed(const config::Config& config);
  /// `dispatches`: pushes are taken too. Errors: no credentials (one sentence), the URL of the keys.
  Result<void> open(const config::Config& config, bool dispatches, const config::Environment& environment);
  /// Fetches the keys, on the io loop.
  void start();

  /// Null: the stream's timer is in the store. `claims`: null where the stream has none. On the loop.
  [[nodiscard]] std::unique_ptr<broker::Timer> timer(const config::StreamSettings& settings,
                                                     std::unique_ptr<broker::Claims> claims);

  [[nodiscard]] bool takes_tasks(const std::string& stream) const override { return rules_.contains(stream); }
  [[nodiscard]] auth::TokenAnswer admit(const std::string& stream, std::string_view authorization) override;
  void fire(std::string stream, broker::TimerEntry entry,
            std::move_only_function<void(broker::Receipt)> done) override;

 private:
  Result<void> open_keys(const std::string& url);
  void fetch(Done<auth::FetchedKeys> done);
  void told(const Error* error);

  TaskDeskContext context_;
  std::string project_;
  std::unordered_map<std::string, auth::TokenRules> rules_;  // by stream; not changed after open
  std::string keys_target_;
  std::unique_ptr<http::Client> keys_client_;
  std::unique_ptr<auth::KeyRing> keys_;
  std::unique_ptr<broker::cloud_tasks::TasksApi> api_;
  std::unordered_map<std::string, broker::PushedTimer*> timers_;  // by stream; of the engine's lines
};

}  // namespace dripgate::app
