// RLS: the product's rate limit service, whole process and memory store, against a server of the same gRPC
// build. One client in this process keeps as many calls in flight to either.
//
// In the control: the callback API, the bounds on connections and calls that the product sets, the question
// parsed, the answer (the product's own, same bytes) copied and written. Not in it: facts, check, metrics,
// rendering, and the product's own memory for messages. Switches of the whole process (health, absl's lock
// graph) are the same for both.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>

#include "app/app.h"
#include "compare.h"
#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "rls/server.h"

namespace dripgate::bench {
namespace {

namespace v3 = ::envoy::service::ratelimit::v3;

constexpr int kInFlight = 64;
// Short repeats, many of them: neighbours see the same weather of a shared machine.
constexpr int kCallsPerRepeat = 5'000;
constexpr int kRepeatsMin = 21;
constexpr int kKeys = 1'000;
constexpr double kSlowerAtMost = 1 / 0.9;

constexpr const char* kConfig = R"(
policies:
  - { id: per-key, match: { plan: free }, key: [apiKey], algorithm: token-bucket, capacity: 1000000, refillPerSecond: 1000000, onStoreFailure: local }
server: { listen: "127.0.0.1:0", rls: { listen: "127.0.0.1:0" } }
)";

v3::RateLimitRequest request_of(int key) {
  v3::RateLimitRequest request;
  request.set_domain("edge");
  auto& descriptor = *request.add_descriptors();
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"remote_address", "203.0.113.7"}, {"plan", "free"}, {"apiKey", "key-" + std::to_string(key)}}) {
    auto& entry = *descriptor.add_entries();
    entry.set_key(name);
    entry.set_value(value);
  }
  return request;
}

class Echo final : public v3::RateLimitService::CallbackService {
 public:
  explicit Echo(v3::RateLimitResponse answer) : answer_(std::move(answer)) {}
  grpc::ServerUnaryReactor* ShouldRateLimit(grpc::CallbackServerContext* context, const v3::RateLimitRequest*,
                                            v3::RateLimitResponse* response) override {
    *response = answer_;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const v3::RateLimitResponse answer_;
};

/// Keeps kInFlight calls going until kCallsPerRepeat are answered.
class Client {
 public:
  explicit Client(int port)
      : stub_(v3::RateLimitService::NewStub(
            grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()))) {
    for (int i = 0; i < kKeys; ++i) requests_.push_back(request_of(i));
  }

  v3::RateLimitResponse one() {
    grpc::ClientContext context;
    v3::RateLimitResponse response;
    const grpc::Status status = stub_->ShouldRateLimit(&context, requests_.front(), &response);
    if (!status.ok() || response.overall_code() != v3::RateLimitResponse::OK) {
      std::fprintf(stderr, "rls: no answer: %s\n", status.error_message().c_str());
      std::exit(2);
    }
    return response;
  }

  std::uint64_t run() {
    begun_ = 0;
    open_ = kInFlight;
    for (int i = 0; i < kInFlight; ++i) next(std::make_shared<Slot>());
    for (int open = open_; open > 0; open = open_) open_.wait(open);
    if (failed_ > 0) std::exit(2);
    return kCallsPerRepeat;
  }

 private:
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    v3::RateLimitResponse response;
  };

  void next(const std::shared_ptr<Slot>& slot) {
    const int number = begun_.fetch_add(1);
    if (number >= kCallsPerRepeat) {
      if (open_.fetch_sub(1) == 1) open_.notify_all();
      return;
    }
    slot->context = std::make_unique<grpc::ClientContext>();
    stub_->async()->ShouldRateLimit(slot->context.get(), &requests_[static_cast<std::size_t>(number % kKeys)],
                                    &slot->response, [this, slot](const grpc::Status& status) {
                                      if (!status.ok()) ++failed_;
                                      next(slot);
                                    });
  }

  std::unique_ptr<v3::RateLimitService::Stub> stub_;
  std::vector<v3::RateLimitRequest> requests_;
  std::atomic<int> begun_{0}, open_{0}, failed_{0};
};

int main_of(int argc, char** argv) {
  auto loaded = config::parse(kConfig, "bench.yaml");
  if (!loaded.config) std::exit(2);
  app::AppOptions options;
  options.config = std::make_shared<const config::Config>(*std::move(loaded.config));
  options.log.write = [](std::string_view) {};
  auto started = app::App::start(std::move(options));
  if (!started) {
    std::fprintf(stderr, "rls: %s\n", started.error().detail.c_str());
    return 2;
  }
  Client product((*started)->rls_port());

  Echo echo(product.one());
  int port = 0;
  const auto to_ms = [](Duration span) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(span).count());
  };
  grpc::ResourceQuota quota("echo");
  quota.Resize(rls::kMessageBytesTotalMax).SetMaxThreads(rls::kStreamThreadsMax);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port)
      .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, rls::kCallsPerConnectionMax)
      .AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, to_ms(rls::kHandshakeTimeout))
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, to_ms(rls::kConnectionIdleMax))
      .SetMaxReceiveMessageSize(rls::kMessageBytesMax)
      .SetResourceQuota(quota)
      .RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  Client control(port);

  // CPU of the process, client and server: while nothing waits, throughput is its inverse, and a busy machine
  // changes it less.
  Comparison table("rls", argc, argv, [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  });
  table.add("echo", [&] { return control.run(); });
  table.add("rls", [&] { return product.run(); });
  table.repeat_at_least(kRepeatsMin);
  table.run();
  table.expect_ratio("rls", "echo", kSlowerAtMost);
  (*started)->stop();
  server->Shutdown();
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::main_of(argc, argv);
}
