// TaskService: what the route of Cloud Tasks asks of the process behind it. app implements it over the timers
// of its streams. Thread-safe; the callback runs once, on any thread, or never (the process ends).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "auth/identity_token.h"
#include "broker/pushed_timer.h"

namespace dripgate::server {

class TaskService {
 public:
  virtual ~TaskService() = default;
  /// This process dispatches the stream, and its timer is one that pushes.
  [[nodiscard]] virtual bool takes_tasks(const std::string& stream) const = 0;
  /// May this caller bring tasks of the stream? By its Authorization header alone; at once. Of a stream that
  /// takes tasks.
  [[nodiscard]] virtual auth::TokenAnswer admit(const std::string& stream,
                                                std::string_view authorization) = 0;
  virtual void fire(std::string stream, broker::TimerEntry entry,
                    std::move_only_function<void(broker::Receipt)> done) = 0;
};

}  // namespace dripgate::server
