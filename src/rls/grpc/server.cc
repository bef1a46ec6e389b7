#include "rls/server.h"

#include <atomic>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "auth/access.h"
#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "rls/grpc/call_messages.h"
#include "rls/grpc/messages.h"

namespace dripgate::rls {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using envoy::service::ratelimit::v3::RateLimitService;

grpc::Status to_status(const Error& error) {
  const bool wrong = error.code == ErrorCode::invalid_argument;
  return {wrong ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::UNAVAILABLE, error.detail};
}

/// One call in hand; dropped unanswered (the process ends): UNAVAILABLE. Moved from thread to thread.
class Call {
 public:
  Call(std::atomic<int>& in_flight, grpc::CallbackServerContext& context, grpc::ServerUnaryReactor& reactor,
       RateLimitResponse& response)
      : in_flight_(&in_flight), context_(&context), reactor_(&reactor), response_(&response) {}
  Call(Call&& other) noexcept
      : in_flight_(other.in_flight_),
        context_(other.context_),
        reactor_(std::exchange(other.reactor_, nullptr)),
        response_(other.response_) {}
  Call& operator=(Call&&) = delete;
  ~Call() {
    if (reactor_ != nullptr) finish({grpc::StatusCode::UNAVAILABLE, "dripgate is shutting down"});
  }

  /// Once; context and response may be gone when it returns.
  void finish(const grpc::Status& status) {
    in_flight_->fetch_sub(1, std::memory_order_relaxed);
    std::exchange(reactor_, nullptr)->Finish(status);
  }
  /// Nobody waits for it any more: its deadline is over (which gRPC notices later, busy as it is), or the
  /// caller is gone.
  [[nodiscard]] bool abandoned() const {
    const gpr_timespec deadline = context_->raw_deadline();
    return context_->IsCancelled() || gpr_time_cmp(deadline, gpr_now(deadline.clock_type)) <= 0;
  }
  [[nodiscard]] RateLimitResponse& response() const { return *response_; }
  [[nodiscard]] const grpc::CallbackServerContext& context() const { return *context_; }

 private:
  std::atomic<int>* in_flight_;
  grpc::CallbackServerContext* context_;
  grpc::ServerUnaryReactor* reactor_;
  RateLimitResponse* response_;
};

/// May this caller ask? Thread-safe. Without tokens the address decides: lint leaves loopback, or
/// a client certificate, which TLS has verified by now.
class Admission {
 public:
  [[nodiscard]] grpc::Status decide(const config::ConfigPtr& config, const Call& call) {
    const config::Server& server = config->server;
    if (server.tokens.empty() || (server.tls && server.tls->client_ca_file)) return grpc::Status::OK;
    const std::shared_ptr<const auth::Access> access = access_of(config);
    const auto& metadata = call.context().client_metadata();
    const auto header = metadata.find("authorization");
    const std::string_view authorization =
        header == metadata.end() ? std::string_view()
                                 : std::string_view(header->second.data(), header->second.size());
    const auth::AccessAnswer answer =
        access->decide({.authorization = authorization}, auth::ScopeSet{auth::Scope::check});
    switch (answer.verdict) {
      case auth::AccessAnswer::Verdict::granted:
        return grpc::Status::OK;
      case auth::AccessAnswer::Verdict::unauthenticated:
        return {grpc::StatusCode::UNAUTHENTICATED, answer.detail};
      case auth::AccessAnswer::Verdict::forbidden:
        return {grpc::StatusCode::PERMISSION_DENIED, answer.detail};
    }
    return grpc::Status::OK;
  }

 private:
  std::shared_ptr<const auth::Access> access_of(const config::ConfigPtr& config) {
    const std::scoped_lock lock(mutex_);
    if (seen_ != config) {
      access_ = std::make_shared<const auth::Access>(config->server);
      seen_ = config;
    }
    return access_;
  }

  std::mutex mutex_;
  config::ConfigPtr seen_;
  std::shared_ptr<const auth::Access> access_;
};

class Service final : public RateLimitService::CallbackService {
 public:
  explicit Service(ServerContext context) : context_(std::move(context)) {
    SetMessageAllocatorFor_ShouldRateLimit(&messages_);
  }

  grpc::ServerUnaryReactor* ShouldRateLimit(grpc::CallbackServerContext* context,
                                            const RateLimitRequest* request,
                                            RateLimitResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const int before = in_flight_.fetch_add(1, std::memory_order_relaxed);
    Call call(in_flight_, *context, *reactor, *response);
    if (before >= kCallsInFlightMax) {
      call.finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "more than " + std::to_string(kCallsInFlightMax) + " calls wait for an answer"});
      return reactor;
    }
    auto requests = read_request(*request);
    if (!requests) {
      call.finish(to_status(requests.error()));
      return reactor;
    }
    if (context_.check_now && requests->size() == 1) {
      ask_now(call, std::move(requests->front()));
      return reactor;
    }
    context_.executor.post([this, call = std::move(call), requests = *std::move(requests)]() mutable {
      ask(std::move(call), std::move(requests));
    });
    return reactor;
  }

 private:
  void ask_now(Call& call, check::Request request) {
    const config::ConfigPtr config = context_.config();
    if (const grpc::Status admitted = admission_.decide(config, call); !admitted.ok())
      return call.finish(admitted);
    if (call.abandoned()) return call.finish(grpc::Status::CANCELLED);  // it spends nothing
    request.refundable = false;
    const Result<check::Answer> answer = context_.check_now(std::move(request));
    if (!answer) return call.finish(to_status(answer.error()));
    write_response({&*answer, 1}, config->server.legacy_headers, call.response());
    call.finish(grpc::Status::OK);
  }

  void ask(Call call, Requests requests) {
    if (call.abandoned()) return call.finish(grpc::Status::CANCELLED);
    const config::ConfigPtr config = context_.config();
    if (const grpc::Status admitted = admission_.decide(config, call); !admitted.ok())
      return call.finish(admitted);
    ask_all(
        context_.gate, std::move(requests),
        [call = std::move(call), legacy = config->server.legacy_headers](Result<Answers> answers) mutable {
          if (!answers) return call.finish(to_status(answers.error()));
          write_response(*answers, legacy, call.response());
          call.finish(grpc::Status::OK);
        });
  }

  ServerContext context_;
  CallMessages messages_;
  Admission admission_;
  std::atomic<int> in_flight_{0};
};

Result<std::string> read_pem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty())
    return fail(ErrorCode::invalid_argument, "server.tls: cannot read " + path);
  return text.str();
}

Result<std::shared_ptr<grpc::ServerCredentials>> credentials(const std::optional<config::Tls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  auto cert = read_pem(tls->cert_file);
  if (!cert) return std::unexpected(cert.error());
  auto key = read_pem(tls->key_file);
  if (!key) return std::unexpected(key.error());
  grpc::SslServerCredentialsOptions options(tls->client_ca_file
                                                ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({*std::move(key), *std::move(cert)});
  if (tls->client_ca_file) {
    auto ca = read_pem(*tls->client_ca_file);
    if (!ca) return std::unexpected(ca.error());
    options.pem_root_certs = *std::move(ca);
  }
  return grpc::SslServerCredentials(options);
}

/// Takes reflection, which the library gives to every server, away from this one.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

int to_ms(Duration span) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(span).count());
}

/// Once per process, before the first server: all are switches of the libraries.
void enable_extras() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // Debian's build keeps a graph of who locks what while whom, under a lock of its own.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  });
}

/// While it lives, what gRPC would write to stderr is kept for an error of ours.
class ListenLog {
 public:
  ListenLog() {
    kept().clear();
    gpr_set_log_function([](gpr_log_func_args* line) {
      const std::scoped_lock lock(mutex());
      if (kept().size() < kKeptMax) kept() += line->message;
    });
  }
  ~ListenLog() { gpr_set_log_function(nullptr); }
  ListenLog(const ListenLog&) = delete;
  ListenLog& operator=(const ListenLog&) = delete;

  /// What the system said, with a colon before it; empty: nothing.
  [[nodiscard]] static std::string reason() {
    constexpr std::string_view kBefore = "os_error:\"";
    const std::scoped_lock lock(mutex());
    const std::size_t at = kept().find(kBefore);
    if (at == std::string::npos) return {};
    const std::string said = kept().substr(at + kBefore.size());
    return ": " + said.substr(0, said.find('"'));
  }

 private:
  static constexpr std::size_t kKeptMax = 4096;
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::string& kept() {
    static std::string text;
    return text;
  }
};

std::string authority(const std::string& host, int port) {
  const bool bracketed = host.find(':') != std::string::npos;
  return (bracketed ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerContext context) : service(std::move(context)) {}

  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;  // ends before the service
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop(Duration{0});
}

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, ServerContext context) {
  auto secured = credentials(options.tls);
  if (!secured) return std::unexpected(std::move(secured).error());
  enable_extras();
  auto impl = std::make_unique<Impl>(std::move(context));
  grpc::ResourceQuota quota("rls");
  quota.Resize(kMessageBytesTotalMax).SetMaxThreads(kStreamThreadsMax);
  const std::string at = authority(options.host, options.port);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(at, *std::move(secured), &impl->port)
      .AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0)  // else two processes would share a port unknowingly
      .AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsPerConnectionMax)
      .AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, to_ms(kHandshakeTimeout))
      .AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, to_ms(kConnectionIdleMax))
      .SetMaxReceiveMessageSize(kMessageBytesMax)
      .SetResourceQuota(quota)
      .RegisterService(&impl->service);
  if (!options.reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  {
    const ListenLog log;
    impl->server = builder.BuildAndStart();
  }
  if (impl->server == nullptr || impl->port == 0) {
    return fail(ErrorCode::unavailable, "server.rls: cannot listen on " + at + ListenLog::reason() +
                                            "; accepted: an address of this machine and a port "
                                            "that nobody has, with a certificate that can be read");
  }
  impl->server->GetHealthCheckService()->SetServingStatus(RateLimitService::service_full_name(), true);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const {
  return static_cast<std::uint16_t>(impl_->port);
}

void Server::stop(Duration grace) {
  if (impl_->server == nullptr) return;
  impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->server->Shutdown(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(grace.count(), GPR_TIMESPAN)));
  impl_->server.reset();
}

}  // namespace dripgate::rls
