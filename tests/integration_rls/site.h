// A `dripgate up` with its rate limit service, its HTTP port and a stub to ask it, in a scratch folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "integration/process.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {

namespace rls_v3 = ::envoy::service::ratelimit::v3;

/// The number after the last "<mark>127.0.0.1:" in a text; empty: not there yet.
inline std::string port_after(const std::string& text, const std::string& mark) {
  const std::string before = mark + "127.0.0.1:";
  const std::size_t at = text.rfind(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  return end == std::string::npos ? std::string() : text.substr(begin, end - begin);
}

class Site {
 public:
  /// `config`: the whole file; ports of 0 are any free ones.
  explicit Site(const std::string& config) {
    write_file(folder.path("dripgate.yaml"), config);
    up = std::make_unique<Process>(std::vector<std::string>{"up", "-c", folder.path("dripgate.yaml")},
                                   folder.path("up"));
    (void)eventually([&] {
      rls_port = port_after(up->err(), "rls=");
      http_port = port_after(up->err(), "listen=");
      return !rls_port.empty() || !up->running();
    });
    EXPECT_FALSE(rls_port.empty()) << up->err();
    connect(grpc::InsecureChannelCredentials());
  }
  ~Site() {
    up->kill_hard();
    for (const char* mark : {"Sanitizer", "runtime error"})
      EXPECT_EQ(up->err().find(mark), std::string::npos) << up->err();
  }

  void connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    channel = grpc::CreateChannel("127.0.0.1:" + rls_port, credentials);
    stub = rls_v3::RateLimitService::NewStub(channel);
  }

  grpc::Status ask(const rls_v3::RateLimitRequest& request, rls_v3::RateLimitResponse& response,
                   const std::string& authorization = "") {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    response.Clear();
    return stub->ShouldRateLimit(&context, request, &response);
  }

  testing::ScratchFolder folder;
  std::string rls_port, http_port;
  std::unique_ptr<Process> up;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<rls_v3::RateLimitService::Stub> stub;
};

inline rls_v3::RateLimitRequest facts(const std::vector<std::pair<std::string, std::string>>& entries) {
  rls_v3::RateLimitRequest request;
  request.set_domain("edge");
  auto& descriptor = *request.add_descriptors();
  for (const auto& [key, value] : entries) {
    auto& entry = *descriptor.add_entries();
    entry.set_key(key);
    entry.set_value(value);
  }
  return request;
}

}  // namespace dripgate::integration
