// A redis::Client that answers within the call, by script.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "redis/client.h"

namespace dripgate::testing {

class FakeRedis final : public redis::Client {
 public:
  struct Run {
    std::vector<std::string> keys, arguments;
  };
  struct Primary {
    std::string node;
    std::map<std::string, redis::Reply, std::less<>> replies;  // by command; others fail
  };

  using redis::Client::command;
  using redis::Client::run;
  void command(std::string_view, redis::Words words, Duration, Done<redis::Reply> done) override {
    commands.emplace_back(words.begin(), words.end());
    const auto known = command_replies.find(words.front());
    if (known == command_replies.end()) return done(fail(ErrorCode::unavailable, "by script"));
    done(known->second);
  }
  void run(const redis::Script&, redis::Words keys, redis::Words arguments, Duration,
           Done<redis::Reply> done) override {
    runs.push_back({{keys.begin(), keys.end()}, {arguments.begin(), arguments.end()}});
    done(script_reply);
  }
  void each_primary(redis::Words words,
                    std::move_only_function<void(std::vector<redis::NodeReply>)> done) override {
    std::vector<redis::NodeReply> answers;
    for (const Primary& primary : primaries) {
      const auto known = primary.replies.find(words.front());
      answers.push_back({primary.node, known == primary.replies.end()
                                           ? Result<redis::Reply>(fail(ErrorCode::unavailable, "by script"))
                                           : known->second});
    }
    done(std::move(answers));
  }
  [[nodiscard]] std::size_t shard(std::string_view) const override { return 0; }
  [[nodiscard]] std::size_t shards() const override { return 1; }
  void when_writable(std::size_t, Task task) override { task(); }

  std::map<std::string, redis::Reply, std::less<>> command_replies;  // by command; others fail
  std::vector<std::vector<std::string>> commands;
  Result<redis::Reply> script_reply = redis::Reply{std::int64_t{1}};
  std::vector<Run> runs;
  std::vector<Primary> primaries;
};

}  // namespace dripgate::testing
