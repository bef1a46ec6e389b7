// Store: where counters and bookings are kept. A handle: copies share one store, with one thread of its own
// for timers, files and sockets. A Limiter and a Scheduler on the same SQLite file must share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dripgate/result.h"

namespace dripgate::DRIPGATE_V1 {

struct RedisOptions {
  enum class Layout { single, sentinel, cluster };
  Layout layout = Layout::single;
  std::vector<std::string> nodes{};  // "host:port": single: one; cluster: where to begin; sentinel: Sentinels
  std::string sentinel_master{};     // the name that the Sentinels know
  std::string user{};                // empty: the default user
  std::string password{};            // empty: no AUTH
  int database = 0;                  // single and sentinel
  bool tls = false;
  std::string ca_file{};    // with tls; empty: the system's CAs
  std::string cert_file{};  // with tls and key_file: a client certificate
  std::string key_file{};
  Span timeout = std::chrono::milliseconds{5};  // of one call of a check; longer is a store failure
  std::string key_prefix{};                     // before every key; without braces
  int partitions = 0;  // hash tags that a stream's bookings are spread over; 0: 1, in a cluster 16
};

class Store {
 public:
  /// Of this process; gone with it.
  static Result<Store> memory();
  /// One file, owned by this process. Errors: locked, corrupt, newer_version, full, io.
  static Result<Store> sqlite(const std::string& path);
  /// Shared by any number of processes. Waits up to 2 s for the first answer; one that is away is no error:
  /// failure modes decide until it is there. Errors: invalid_argument.
  static Result<Store> redis(const RedisOptions& options);

  /// The last copy ends the store, whatever thread it is on; a Limiter or a Scheduler keeps one.
  ~Store();
  Store(const Store&);
  Store(Store&&) noexcept;
  Store& operator=(const Store&);
  Store& operator=(Store&&) noexcept;

  class Impl;  // of the library
  explicit Store(std::shared_ptr<Impl> impl);
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace dripgate::DRIPGATE_V1
