// A real redis-server of a test: 127.0.0.1, free ports, files in a folder of its own, gone with the test.
// A missing redis-server or one that does not start throws: the test fails, with the server's words.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/redis/child_process.h"
#include "support/redis/steered_clock.h"
#include "support/scratch_folder.h"

namespace dripgate::testing {

/// A port of 127.0.0.1 that nobody listens on now.
[[nodiscard]] std::uint16_t free_port();

/// One command on a connection of its own, and the reply as text: items of an array one a line, nil empty, an
/// error as "-ERR ...". No server: "-no connection". `password`: of the default user.
std::string ask_redis(std::uint16_t port, const std::vector<std::string>& words,
                      const std::string& password = "");

struct RedisTls {
  std::string ca_file, cert_file, key_file;  // PEM
  bool ask_clients = true;                   // refuse clients without a certificate of the CA
};

struct RedisOptions {
  std::vector<std::string> lines{};     // of redis.conf, beside what the harness sets
  std::string password{};               // requirepass
  const SteeredClock* clock = nullptr;  // outlives the server
  bool sentinel = false;                // run as a Sentinel
  bool cluster = false;                 // a node of a cluster
  std::optional<RedisTls> tls{};        // a TLS port beside the plain one
};

class RedisServer {
 public:
  explicit RedisServer(RedisOptions options = {});

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t tls_port() const { return tls_port_; }  // 0: none
  [[nodiscard]] std::uint16_t bus_port() const { return bus_port_; }  // of a cluster's node
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// See ask_redis.
  std::string ask(const std::vector<std::string>& words) const {
    return ask_redis(port_, words, options_.password);
  }

  void kill() { process_->kill(); }  // SIGKILL
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }
  /// After kill(): again, on the same port and files.
  void restart();

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] std::string log() const;

 private:
  void write_config();
  bool start();
  [[nodiscard]] bool ready() const;

  RedisOptions options_;
  ScratchFolder folder_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  std::uint16_t bus_port_ = 0;
  std::size_t log_start_ = 0;  // where the log of this start begins
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace dripgate::testing
