#include "store/redis/instances.h"

#include <array>
#include <utility>

#include "base/keyed_hash.h"
#include "store/redis/lua/texts.h"

namespace dripgate::store {
namespace {

/// No counter key is named so: theirs go on with a brace.
constexpr const char* kInstancesKey = "rl:instances";

const redis::Script& heartbeat_script() {
  static const redis::Script script{lua::heartbeat};
  return script;
}

std::string random_id() {
  const HashKey random = random_hash_key();
  return std::to_string(random.first) + "-" + std::to_string(random.second);
}

}  // namespace

Instances::Instances(redis::Client& client, Executor& executor, std::string key_prefix,
                     std::function<void(int)> counted)
    : client_(client),
      executor_(executor),
      key_(std::move(key_prefix) + kInstancesKey),
      id_(random_id()),
      counted_(std::move(counted)) {}

void Instances::start() {
  if (std::exchange(running_, true)) return;
  beat();
}

void Instances::stop(Task done) {
  running_ = false;
  auto then = std::make_shared<Task>(std::move(done));
  send(false, [then](const Result<redis::Reply>&) { (*then)(); });
}

void Instances::beat() {
  if (!running_) return;
  send(true, [this](const Result<redis::Reply>& reply) {
    if (!running_ || !reply) return;
    if (const std::int64_t* count = reply->integer()) counted_(static_cast<int>(*count));
  });
  executor_.post_after(kHeartbeatEvery, guard_.wrap([this] { beat(); }));
}

void Instances::send(bool lives, std::function<void(Result<redis::Reply>)> heard) {
  const std::string counts_for = std::to_string(kHeartbeatLives / std::chrono::milliseconds{1});
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 3> arguments{id_, lives ? "1" : "0", counts_for};
  client_.run(heartbeat_script(), keys, arguments, kHeartbeatEvery, guard_.wrap(std::move(heard)));
}

}  // namespace dripgate::store
