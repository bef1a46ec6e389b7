// The product's own gate in this process, behind real sockets for HTTP and gRPC, over a memory store or a
// real Redis Cluster of three primaries whose time is the test's. The binary has no such clock, and gets
// none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <nlohmann/json.hpp>

#include "check/check.h"
#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "http/server.h"
#include "redis/make_client.h"
#include "rls/server.h"
#include "server/routes.h"
#include "store/failover/failover_store.h"
#include "support/redis/redis_cluster.h"
#include "support/steady_clock.h"
#include "unit/server/checker_service.h"
#include "unit/server/fake_service.h"

namespace dripgate::histories {

namespace rls_v3 = ::envoy::service::ratelimit::v3;

/// The store's time: set by the test's thread, read by the gate's.
class SharedClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return from_us(us_.load()); }
  void set(WallTime now) { us_.store(to_us(now)); }

 private:
  std::atomic<std::int64_t> us_{1'800'000'000'000'000};
};

/// One HTTP/1.1 connection that is kept open; every question waits for its answer.
class HttpCaller {
 public:
  explicit HttpCaller(std::uint16_t port);
  ~HttpCaller();
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  /// The body of the answer as JSON; null where there is none.
  [[nodiscard]] nlohmann::json post(const std::string& path, const nlohmann::json& body);

 private:
  [[nodiscard]] bool read_more();

  int socket_;
  std::string bytes_;
};

enum class Where : std::uint8_t { memory, redis_cluster };

class GateWorld {
 public:
  GateWorld(Where where, const std::string& config);
  ~GateWorld();
  GateWorld(const GateWorld&) = delete;
  GateWorld& operator=(const GateWorld&) = delete;

  [[nodiscard]] WallTime now() const { return clock_.now(); }
  /// Forward only. No question is open; what refusals give back arrives before.
  void set(WallTime now);

  [[nodiscard]] HttpCaller http() const { return HttpCaller(http_->port()); }
  [[nodiscard]] std::unique_ptr<rls_v3::RateLimitService::Stub> rls() const;

 private:
  class NoDecisions final : public check::Observer {
    void on_decision(const check::Answer& /*answer*/, Duration /*took*/) override {}
  };
  void connect_redis();
  void let_settle();

  SharedClock clock_;
  testing::SteadyClock steady_;
  std::unique_ptr<testing::SteeredClock> steered_;
  std::unique_ptr<testing::RedisCluster> cluster_;
  net::IoLoop loop_;
  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<store::CounterStore> counters_;
  config::ConfigPtr config_;
  store::LocalCounters local_{steady_};
  std::unique_ptr<store::FailoverStore> guarded_;
  NoDecisions observer_;
  std::unique_ptr<check::Checker> checker_;
  std::unique_ptr<server::testing::CheckerService> gate_;
  server::testing::FakeService streams_;
  obs::Metrics metrics_;
  obs::Log log_{{.write = [](std::string_view) {}}};
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<rls::Server> rls_;
  std::thread thread_;
};

}  // namespace dripgate::histories
