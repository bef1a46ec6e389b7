// What the store sends, rendered once and then replayed at a real redis-server: 16 commands per write and
// read, so that the server's CPU per command is the script's and not that of system calls. Bench programs
// only.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

#include "redis/client.h"
#include "support/redis/redis_server.h"

namespace dripgate::bench {

inline constexpr std::size_t kPipelined = 16;

/// A Client that keeps what it is asked to send, as commands, and answers nothing.
class RecordingClient final : public redis::Client {
 public:
  using redis::Client::command;
  using redis::Client::run;
  void command(std::string_view, redis::Words words, Duration, Done<redis::Reply>) override {
    commands.push_back(render({words.begin(), words.end()}));
  }
  void run(const redis::Script& script, redis::Words keys, redis::Words arguments, Duration,
           Done<redis::Reply>) override {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> words{"EVALSHA", script.sha1(), count};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    commands.push_back(render(words));
  }
  void each_primary(redis::Words, std::move_only_function<void(std::vector<redis::NodeReply>)>) override {}
  [[nodiscard]] std::size_t shard(std::string_view) const override { return 0; }
  [[nodiscard]] std::size_t shards() const override { return 1; }
  void when_writable(std::size_t, Task task) override { task(); }

  static std::string render(const std::vector<std::string_view>& words) {
    std::string out = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words)
      out.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
    return out;
  }

  std::vector<std::string> commands;
};

/// A redis-server of this program and one connection to it.
class Wire {
 public:
  Wire() : connection_(redisConnect("127.0.0.1", server_.port()), &redisFree) {
    if (!connection_ || connection_->err != 0) die("no connection");
  }

  /// CPU time of the thread that runs the commands.
  [[nodiscard]] double server_nanoseconds() const {
    const std::string pid = std::to_string(server_.pid());
    std::ifstream in("/proc/" + pid + "/task/" + pid + "/schedstat");
    double nanoseconds = 0;
    if (!(in >> nanoseconds)) die("no schedstat of the server's thread");
    return nanoseconds;
  }
  [[nodiscard]] std::string ask(const std::vector<std::string>& words) const { return server_.ask(words); }
  [[nodiscard]] double used_memory() const {
    const std::string info = ask({"INFO", "memory"});
    return std::strtod(info.c_str() + info.find("used_memory:") + std::string_view("used_memory:").size(),
                       nullptr);
  }
  void load(std::string_view script) const { (void)ask({"SCRIPT", "LOAD", std::string(script)}); }

  /// Sends rendered commands and reads their replies; an error reply ends the program.
  void replay(std::span<const std::string> commands) {
    for (std::size_t first = 0; first < commands.size(); first += kPipelined) {
      const std::size_t end = std::min(first + kPipelined, commands.size());
      for (std::size_t i = first; i < end; ++i)
        redisAppendFormattedCommand(connection_.get(), commands[i].data(), commands[i].size());
      for (std::size_t i = first; i < end; ++i) {
        void* reply = nullptr;
        if (redisGetReply(connection_.get(), &reply) != REDIS_OK) die(connection_->errstr);
        const auto* answer = static_cast<redisReply*>(reply);
        if (answer->type == REDIS_REPLY_ERROR) die(answer->str);
        freeReplyObject(reply);
      }
    }
  }

 private:
  [[noreturn]] static void die(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(2);
  }

  testing::RedisServer server_;
  std::unique_ptr<redisContext, decltype(&redisFree)> connection_;
};

}  // namespace dripgate::bench
