// A real gRPC client against the real binary.
#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration_rls/gate_world.h"
#include "integration_rls/raw_call.h"
#include "integration_rls/site.h"

namespace dripgate::integration {
namespace {

using grpc::StatusCode;
using rls_v3::RateLimitResponse;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kServer = "server: { listen: \"127.0.0.1:0\", rls: { listen: \"127.0.0.1:0\" } }\n";
const std::string kPolicies = R"(policies:
  - { id: per-user, match: { user: "*" }, key: [user], algorithm: sliding-log, limit: 3, window: 1h, onStoreFailure: closed }
  - { id: wide, match: { wide: "*" }, key: [wide], limit: 1000000, window: 1h, onStoreFailure: closed }
)";

TEST(Rls, AllowsUntilTheLimitAndRefusesWithTheWholeContract) {
  Site site(kPolicies + kServer);
  RateLimitResponse response;
  for (int left = 2; left >= 0; --left) {
    ASSERT_TRUE(site.ask(facts({{"user", "ada"}}), response).ok());
    EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
    ASSERT_EQ(response.statuses_size(), 1);
    EXPECT_EQ(response.statuses(0).limit_remaining(), static_cast<std::uint32_t>(left));
    EXPECT_EQ(response.statuses(0).current_limit().unit(), RateLimitResponse::RateLimit::HOUR);
  }
  ASSERT_TRUE(site.ask(facts({{"user", "ada"}}), response).ok());
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_THAT(response.raw_body(), HasSubstr("RATE_LIMITED"));
  ASSERT_TRUE(site.ask(facts({{"user", "bob"}}), response).ok());
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
}

// A memory store is asked on gRPC's own threads, beside the HTTP loop.
TEST(Rls, CallersAtOnceOverBothEdgesAreAdmittedExactlyAsOftenAsTheLimitSays) {
  constexpr int kCallers = 8;
  constexpr int kCallsEach = 50;
  constexpr int kLimit = 150;
  Site site(
      "store: { memory: {} }\npolicies:\n  - { id: shared, match: { tenant: acme }, key: [tenant], limit: " +
      std::to_string(kLimit) + ", window: 24h, algorithm: sliding-log, onStoreFailure: closed }\n" + kServer);
  std::atomic<int> admitted = 0;
  std::atomic<int> unanswered = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, over_http = caller % 2 == 0] {
      histories::HttpCaller http(static_cast<std::uint16_t>(std::stoi(site.http_port)));
      for (int i = 0; i < kCallsEach; ++i) {
        if (over_http) {
          const nlohmann::json said = http.post("/v1/check", {{"attributes", {{"tenant", "acme"}}}});
          if (!said.contains("allowed"))
            ++unanswered;
          else if (said["allowed"] == true)
            ++admitted;
          continue;
        }
        RateLimitResponse response;
        if (!site.ask(facts({{"tenant", "acme"}}), response).ok())
          ++unanswered;
        else if (response.overall_code() == RateLimitResponse::OK)
          ++admitted;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(unanswered, 0);
  EXPECT_EQ(admitted, kLimit);
}

TEST(Rls, WhatIsNoQuestionIsTheCallersError) {
  Site site(kPolicies + kServer);
  RateLimitResponse response;
  const grpc::Status twice = site.ask(facts({{"user", "ada"}, {"user", "bob"}}), response);
  EXPECT_EQ(twice.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(twice.error_message(), HasSubstr("names 'user' twice"));
  EXPECT_EQ(site.ask(facts({{"user", std::string(5u << 20, 'x')}}), response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(site.ask(facts({{"user", std::string(3u << 20, 'x')}}), response).ok()) << "a client's longest";
}

TEST(Rls, HealthAndReflectionAnswer) {
  Site site(kPolicies + kServer);
  const std::string name = "envoy.service.ratelimit.v3.RateLimitService";
  // HealthCheckRequest{1: service}; HealthCheckResponse{1: status}, SERVING = 1.
  const std::string asks = "\x0a" + std::string(1, static_cast<char>(name.size())) + name;
  EXPECT_EQ(call_raw(site.channel, "/grpc.health.v1.Health/Check", ""), "\x08\x01");
  EXPECT_EQ(call_raw(site.channel, "/grpc.health.v1.Health/Check", asks), "\x08\x01");
  EXPECT_THAT(call_raw(site.channel, "/grpc.health.v1.Health/Check", "\x0a\x01x"), HasSubstr("failed"));
  // ServerReflectionRequest{7: list_services}.
  EXPECT_THAT(
      call_raw(site.channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*"),
      HasSubstr(name));
}

TEST(Rls, ConfiguredTokensAreAskedFor) {
  testing::ScratchFolder secrets;
  write_file(secrets.path("check"), "letmein-letmein-letmein\n");
  write_file(secrets.path("ingest"), "ingest-ingest-ingest-in\n");
  Site site(
      kPolicies +
      "server:\n  listen: \"127.0.0.1:0\"\n  rls: { listen: \"127.0.0.1:0\" }\n  tokens:\n    - { file: " +
      secrets.path("check") + ", scopes: [check] }\n    - { file: " + secrets.path("ingest") +
      ", scopes: [ingest] }\n");
  RateLimitResponse response;
  const auto request = facts({{"user", "ada"}});
  EXPECT_EQ(site.ask(request, response).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(site.ask(request, response, "Bearer wrong").error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(site.ask(request, response, "Bearer ingest-ingest-ingest-in").error_code(),
            StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(site.ask(request, response, "Bearer letmein-letmein-letmein").ok());
  EXPECT_EQ(response.statuses(0).limit_remaining(), 2u) << "refused callers spend nothing";
}

TEST(Rls, ACallThatNobodyWaitsForAnyMoreAnswersItsCaller) {
  Site site(kPolicies + kServer);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds{1});
  RateLimitResponse response;
  EXPECT_EQ(site.stub->ShouldRateLimit(&context, facts({{"user", "ada"}}), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(site.ask(facts({{"user", "ada"}}), response).ok());
  EXPECT_EQ(response.statuses(0).limit_remaining(), 2u);
}

TEST(Rls, AnOrderedEndAnswersWhatIsInHand) {
  Site site(kPolicies + kServer);
  constexpr int kCallers = 4;
  std::atomic<int> answered{0}, ended{0};
  std::array<std::string, kCallers> odd;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      const auto place = static_cast<std::size_t>(i);
      RateLimitResponse response;
      while (true) {
        const grpc::Status status = site.ask(facts({{"wide", "x"}}), response);
        if (status.ok()) {
          ++answered;
          if (response.overall_code() != RateLimitResponse::OK) odd[place] = response.ShortDebugString();
          continue;
        }
        // gRPC cancels a call that crosses its GOAWAY on the way.
        if (status.error_code() != StatusCode::UNAVAILABLE && status.error_code() != StatusCode::CANCELLED) {
          odd[place] = std::to_string(status.error_code()) + ' ' + status.error_message();
        }
        ++ended;
        return;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answered >= 100; }));
  site.up->signal(SIGTERM);
  EXPECT_EQ(site.up->exit_code(), 0) << site.up->err();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ended, kCallers);
  EXPECT_THAT(odd, ::testing::Each("")) << "every call was answered, or refused by the end";
}

TEST(Rls, APortThatIsTakenIsSaidAtStart) {
  Site site(kPolicies + kServer);
  write_file(site.folder.path("second.yaml"),
             kPolicies + "server: { listen: \"127.0.0.1:0\", rls: { listen: \"127.0.0.1:" + site.rls_port +
                 "\" } }\n");
  const Finished second = run({"up", "-c", site.folder.path("second.yaml")}, site.folder.path("second"));
  EXPECT_NE(second.code, 0);
  EXPECT_THAT(second.err, HasSubstr("server.rls: cannot listen on 127.0.0.1:" + site.rls_port +
                                    ": Address already in use"));
  EXPECT_THAT(second.err, Not(HasSubstr("chttp2")));  // gRPC's own line says no more
}

}  // namespace
}  // namespace dripgate::integration
