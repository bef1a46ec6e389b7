// SingleClient: a Client of one primary, at a fixed place or where a Locate says. Inside of this room only.
#pragma once

#include <memory>

#include "redis/call.h"
#include "redis/client.h"
#include "redis/connection.h"

namespace dripgate::redis {

class SingleClient final : public Client {
 public:
  /// The connection has been started. `on_close`: what ends with it.
  SingleClient(net::IoLoop& loop, ConnectionPtr connection, Duration timeout, Task on_close = {});
  ~SingleClient() override;
  SingleClient(const SingleClient&) = delete;
  SingleClient& operator=(const SingleClient&) = delete;

  using Client::command;
  using Client::run;
  void command(std::string_view key, Words words, Duration timeout, Done<Reply> done) override;
  void run(const Script& script, Words keys, Words arguments, Duration timeout, Done<Reply> done) override;
  void each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) override;
  [[nodiscard]] std::size_t shard(std::string_view) const override { return 0; }
  [[nodiscard]] std::size_t shards() const override { return 1; }
  void when_writable(std::size_t shard, Task task) override;

 private:
  [[nodiscard]] MonoTime deadline(Duration timeout) const;

  net::IoLoop& loop_;
  ConnectionPtr connection_;
  Duration timeout_;
  Task on_close_;
};

}  // namespace dripgate::redis
