// TLS against a real server: the server's name is verified, clients show certificates.
#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "support/certificates.h"
#include "support/redis/redis_server.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::Certificates;
using dripgate::testing::RedisServer;

struct RedisTlsTest : ::testing::Test {
  Certificates certificates;  // of the server: for 127.0.0.1 and localhost

  RedisServer server(bool ask_clients) {
    return RedisServer({.lines = {"bind 127.0.0.1 127.0.0.2"},
                        .tls = {{.ca_file = certificates.ca,
                                 .cert_file = certificates.cert,
                                 .key_file = certificates.key,
                                 .ask_clients = ask_clients}}});
  }
  Options at(const RedisServer& redis, const std::string& host = "127.0.0.1") const {
    return {.nodes = {{host, redis.tls_port()}},
            .tls = net::ClientTls{.ca_file = certificates.ca},
            .timeout = kUnhurried};
  }
  Options with_certificate(Options options) const {
    options.tls->cert_file = certificates.client_cert;
    options.tls->key_file = certificates.client_key;
    return options;
  }
  static std::string refusal(Options options) {
    Asker asker(std::move(options));
    const auto refused = asker.ask({"PING"});
    if (refused) return "it connected";
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    return refused.error().detail;
  }
};

TEST_F(RedisTlsTest, AVerifiedServerIsSpokenToUnderItsAddressAndItsName) {
  const RedisServer redis = server(false);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Asker asker(at(redis, host));
    EXPECT_EQ(shown(asker.ask({"SET", "k", host})), "OK");
    const std::string big(3 << 20, 'x');
    EXPECT_EQ(shown(asker.ask({"ECHO", big})), big);
  }
}

TEST_F(RedisTlsTest, AServerUnderAnotherNameIsRefused) {
  const RedisServer redis = server(false);
  EXPECT_NE(refusal(at(redis, "127.0.0.2")).find("TLS handshake failed"), std::string::npos);
}

TEST_F(RedisTlsTest, AServerOfAnotherCaIsRefused) {
  const RedisServer redis = server(false);
  Options options = at(redis);
  options.tls->ca_file = certificates.other_ca;
  EXPECT_NE(refusal(options).find("TLS handshake failed"), std::string::npos);
  options.tls->ca_file.reset();  // the system's CAs do not know it either
  EXPECT_NE(refusal(options).find("TLS handshake failed"), std::string::npos);
}

TEST_F(RedisTlsTest, AServerThatAsksForCertificatesGetsOurs) {
  const RedisServer redis = server(true);
  EXPECT_NE(refusal(at(redis)), "it connected");
  Asker asker(with_certificate(at(redis)));
  EXPECT_EQ(shown(asker.ask({"PING"})), "PONG");
}

TEST_F(RedisTlsTest, APlainServerIsNotSpokenToInClear) {
  const RedisServer redis = server(false);
  Options options = at(redis);
  options.nodes = {local(redis.port())};
  EXPECT_NE(refusal(options), "it connected");
}

TEST_F(RedisTlsTest, ABrokenTlsConnectionComesBack) {
  RedisServer redis = server(true);
  Asker asker(with_certificate(at(redis)));
  ASSERT_EQ(shown(asker.ask({"PING"})), "PONG");
  redis.kill();
  redis.restart();
  EXPECT_TRUE(asker.works({"PING"}, "k", std::chrono::milliseconds{2000}));
}

}  // namespace
}  // namespace dripgate::redis::testing
