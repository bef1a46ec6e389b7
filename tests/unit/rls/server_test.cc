// A call whose deadline passes while the server has it in hand.
#include "rls/server.h"

#include <atomic>
#include <future>

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.grpc.pb.h"
#include "unit/check/world.h"
#include "unit/server/checker_service.h"

namespace dripgate::rls {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using envoy::service::ratelimit::v3::RateLimitService;

constexpr auto kPatience = std::chrono::seconds{30};

class AtOnce final : public Executor {
 public:
  void post(Task task) override { task(); }
  void post_after(Duration, Task task) override { task(); }
};

TEST(RlsServer, ACallWhoseDeadlinePassesBeforeItsCheckSpendsNothing) {
  check::World world(check::kOriginal);
  server::testing::CheckerService gate(world.checker);
  AtOnce executor;
  std::promise<void> hear;
  const std::shared_future<void> heard = hear.get_future().share();
  std::atomic<int> arrived{0}, asked{0};
  ServerContext context{.executor = executor,
                        .gate = gate,
                        .config =
                            [&] {
                              ++arrived;  // and stays in hand until the caller has its answer
                              EXPECT_EQ(heard.wait_for(kPatience), std::future_status::ready);
                              return world.config;
                            },
                        .check_now = [&](check::Request) -> Result<check::Answer> {
                          ++asked;
                          return fail(ErrorCode::unavailable, "asked");
                        }};
  auto server = Server::listen({}, std::move(context));
  ASSERT_TRUE(server);
  const auto stub = RateLimitService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string((*server)->port()), grpc::InsecureChannelCredentials()));
  RateLimitRequest request;
  request.set_domain("edge");
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key("plan");
  entry.set_value("free");
  // Too short on a busy machine, the call may end before it arrives.
  for (int ms = 50; arrived == 0; ms *= 2) {
    grpc::ClientContext call;
    call.AddMetadata("grpc-timeout", std::to_string(ms) + "m");  // the server's deadline; the caller has none
    RateLimitResponse response;
    EXPECT_EQ(stub->ShouldRateLimit(&call, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  hear.set_value();
  (*server)->stop(kPatience);  // every call has ended
  EXPECT_GE(arrived, 1);
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace dripgate::rls
