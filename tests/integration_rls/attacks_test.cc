// Who means harm to the rate limit service: what it may hold is bounded, what it asks without a token is
// refused, and everybody else is answered meanwhile. And the service behind TLS, and with its store away.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration_rls/raw_call.h"
#include "integration_rls/site.h"
#include "support/certificates.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

using grpc::StatusCode;
using rls_v3::RateLimitResponse;
using ::testing::HasSubstr;

const std::string kPolicies = R"(policies:
  - { id: per-user, match: { user: "*" }, key: [user], limit: 3, window: 1h, onStoreFailure: closed }
  - { id: local, match: { local: "*" }, key: [local], limit: 3, window: 1h, onStoreFailure: local }
  - { id: open, match: { open: "*" }, key: [open], limit: 3, window: 1h, onStoreFailure: open }
)";
const std::string kListen = "listen: \"127.0.0.1:0\", rls: { listen: \"127.0.0.1:0\" }";
const std::string kReflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
const std::string kListServices = "\x3a\x01*";  // ServerReflectionRequest{7: list_services}

RateLimitResponse answered(Site& site, const rls_v3::RateLimitRequest& request) {
  RateLimitResponse response;
  const grpc::Status status = site.ask(request, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(RlsAttack, ThousandsOfDescriptorsAndEntriesAreRefusedWhole) {
  Site site(kPolicies + "server: { " + kListen + " }\n");
  rls_v3::RateLimitRequest request = facts({{"user", "ada"}});
  for (int i = 0; i < 5'000; ++i) *request.add_descriptors() = request.descriptors(0);
  RateLimitResponse response;
  grpc::Status status = site.ask(request, response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("5001 descriptors; accepted: 1 to 32"));
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 5'000; ++i) many.emplace_back("k" + std::to_string(i), "v");
  status = site.ask(facts(many), response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("5000 entries; accepted: at most 64"));
  EXPECT_EQ(answered(site, facts({{"user", "ada"}})).statuses(0).limit_remaining(), 2u)
      << "nothing was spent";
}

TEST(RlsAttack, ConnectionsThatSayNothingOrRubbishKeepNobodyFromAnAnswer) {
  Site site(kPolicies + "server: { " + kListen + " }\n");
  std::vector<int> sockets;
  for (int i = 0; i < 400; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(site.rls_port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string_view bytes =
        i % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    sockets.push_back(socket);
  }
  EXPECT_EQ(answered(site, facts({{"user", "ada"}})).overall_code(), RateLimitResponse::OK);
  for (const int socket : sockets) ::close(socket);
}

TEST(RlsAttack, ReflectionThatIsHeldOpenTakesNoMoreThanItsThreads) {
  Site site(kPolicies + "server: { " + kListen + " }\n");
  std::vector<std::unique_ptr<OpenStream>> streams;
  for (int i = 0; i < 64; ++i)
    streams.push_back(std::make_unique<OpenStream>(site.channel, kReflection, kListServices));
  EXPECT_EQ(answered(site, facts({{"user", "ada"}})).overall_code(), RateLimitResponse::OK);
  const std::string tasks = "/proc/" + std::to_string(site.up->pid()) + "/status";
  const std::string status = read_file(tasks);
  const std::size_t at = status.find("Threads:");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stoi(status.substr(at + 8)), 60) << "a stream, a thread";
}

TEST(RlsAttack, WhereTokensAreConfiguredReflectionIsNotThereAndHealthIs) {
  testing::ScratchFolder secrets;
  write_file(secrets.path("check"), "letmein-letmein-letmein\n");
  Site site(kPolicies + "server: { " + kListen + ", tokens: [ { file: " + secrets.path("check") +
            ", scopes: [check] } ] }\n");
  EXPECT_THAT(call_raw(site.channel, kReflection, kListServices), HasSubstr("failed"));
  EXPECT_EQ(call_raw(site.channel, "/grpc.health.v1.Health/Check", ""), "\x08\x01");
}

TEST(RlsTls, TheServiceShowsItsCertificateAndAsksForThoseOfClients) {
  const testing::Certificates files;
  Site site(kPolicies + "server: { " + kListen + ", tls: { cert: " + files.cert + ", key: " + files.key +
            ", clientCa: " + files.ca + " } }\n");
  RateLimitResponse response;
  EXPECT_FALSE(site.ask(facts({{"user", "ada"}}), response).ok()) << "plain text";
  grpc::SslCredentialsOptions stranger{
      .pem_root_certs = read_file(files.ca), .pem_private_key = {}, .pem_cert_chain = {}};
  site.connect(grpc::SslCredentials(stranger));
  EXPECT_FALSE(site.ask(facts({{"user", "ada"}}), response).ok()) << "no certificate";
  stranger.pem_root_certs = read_file(files.other_ca);
  site.connect(grpc::SslCredentials(stranger));
  EXPECT_FALSE(site.ask(facts({{"user", "ada"}}), response).ok()) << "another CA";
  site.connect(grpc::SslCredentials({.pem_root_certs = read_file(files.ca),
                                     .pem_private_key = read_file(files.client_key),
                                     .pem_cert_chain = read_file(files.client_cert)}));
  EXPECT_EQ(answered(site, facts({{"user", "ada"}})).statuses(0).limit_remaining(), 2u);
}

TEST(RlsStoreAway, TheModesOfThePoliciesAnswer) {
  testing::RedisServer redis;
  Site site("store: { redis: { url: \"redis://" + redis.address() + "\", timeout: 2s } }\n" + kPolicies +
            "server: { " + kListen + " }\n");
  EXPECT_EQ(answered(site, facts({{"user", "ada"}})).statuses(0).limit_remaining(), 2u);
  redis.kill();
  const RateLimitResponse closed = answered(site, facts({{"user", "ada"}}));
  EXPECT_EQ(closed.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_THAT(closed.raw_body(), HasSubstr("LIMITER_UNAVAILABLE"));
  EXPECT_EQ(closed.statuses_size(), 1);
  EXPECT_EQ(answered(site, facts({{"local", "ada"}})).statuses(0).limit_remaining(), 2u)
      << "this process' share";
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(answered(site, facts({{"open", "ada"}})).overall_code(), RateLimitResponse::OK);
}

}  // namespace
}  // namespace dripgate::integration
