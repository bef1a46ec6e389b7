// Fleet: an operator's side of hot reload by message: asks every instance on a Redis to look at its file
// again, and lists what each runs. For verbs: every call waits for its answer on this thread.
#pragma once

#include <memory>
#include <vector>

#include "app/config_report.h"
#include "config/config.h"
#include "net/io_loop.h"
#include "redis/client.h"

namespace dripgate::app {

class Fleet {
 public:
  /// Connects in the background. Errors: invalid_argument (what the config says, TLS files).
  static Result<std::unique_ptr<Fleet>> make(const config::RedisStore& store);

  /// Counts one more reload, which every instance finds with its next poll; answers its number. Errors: as a
  /// redis::Client's; then it may have been counted all the same, which harms nobody.
  Result<std::int64_t> ask_reload();
  /// The message that makes them look at once. Errors: likewise; then the polls are left.
  Result<void> tell(std::int64_t number);
  /// Ordered by name. Errors: as a redis::Client's; corrupt.
  Result<std::vector<ConfigReport>> instances();
  /// Lets `span` go by.
  void wait(Duration span) { loop_.run_for(span); }

 private:
  explicit Fleet(const std::string& key_prefix) : keys_(key_prefix) {}
  Result<redis::Reply> wait_for(std::move_only_function<void(Done<redis::Reply>)> begin);

  const ConfigKeys keys_;
  net::IoLoop loop_;
  std::unique_ptr<redis::Client> client_;
};

}  // namespace dripgate::app
