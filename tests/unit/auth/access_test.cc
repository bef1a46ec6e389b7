// Who may use what: tokens and scopes, certificates, this machine only.
#include "auth/access.h"

#include <gtest/gtest.h>

namespace dripgate::auth {
namespace {

using Verdict = AccessAnswer::Verdict;

config::Server with_tokens() {
  config::Server server;
  server.tokens = {{.secret = "ingest-secret", .scopes = {Scope::ingest}},
                   {.secret = "admin-secret", .scopes = {Scope::admin}},
                   {.secret = "both-secret", .scopes = {Scope::ingest, Scope::consume}}};
  return server;
}

AccessAnswer ask(const config::Server& server, std::string_view authorization, ScopeSet accepted) {
  return Access(server).decide({.authorization = authorization, .host = "example.com", .loopback = true},
                               accepted);
}

TEST(Access, GrantsATokenExactlyItsScopes) {
  const config::Server server = with_tokens();
  EXPECT_EQ(ask(server, "Bearer ingest-secret", {Scope::ingest}).verdict, Verdict::granted);
  EXPECT_EQ(ask(server, "Bearer ingest-secret", {Scope::admin}).verdict, Verdict::forbidden);
  EXPECT_EQ(ask(server, "Bearer admin-secret", {Scope::ingest}).verdict, Verdict::forbidden);
  EXPECT_EQ(ask(server, "Bearer both-secret", {Scope::consume, Scope::admin}).verdict, Verdict::granted);
  const auto refused = ask(server, "Bearer ingest-secret", {Scope::consume, Scope::admin});
  EXPECT_EQ(refused.detail, "the token lacks the scope consume or admin");
}

TEST(Access, TakesNothingThatIsNotAKnownBearerToken) {
  for (const char* header : {"", "Bearer", "Bearer ", "Bearer wrong", "Basic ingest-secret", "ingest-secret",
                             "Bearer ingest-secre", "Bearer ingest-secret ", "Bearer ingest-secretx"}) {
    EXPECT_EQ(ask(with_tokens(), header, {Scope::ingest}).verdict, Verdict::unauthenticated) << header;
  }
  EXPECT_EQ(ask(with_tokens(), "bearer   ingest-secret", {Scope::ingest}).verdict, Verdict::granted)
      << "the scheme's letters and spaces are free (RFC 9110)";
}

TEST(Access, NamesTheCallerWithoutShowingTheSecret) {
  const auto granted = ask(with_tokens(), "Bearer admin-secret", {Scope::admin});
  EXPECT_TRUE(granted.identity.starts_with("token:"));
  EXPECT_EQ(granted.identity.size(), 14u);
  EXPECT_EQ(granted.identity.find("secret"), std::string::npos);
}

TEST(Access, ACertificateHasEveryScope) {
  config::Server server = with_tokens();
  server.tls = config::Tls{.cert_file = "c", .key_file = "k", .client_ca_file = "ca"};
  const auto granted = Access(server).decide({.client_certificate = "/CN=ops"}, {Scope::admin});
  EXPECT_EQ(granted.verdict, Verdict::granted);
  EXPECT_EQ(granted.identity, "cert:/CN=ops");
  server.tokens.clear();
  EXPECT_EQ(Access(server).decide({.loopback = true}, {Scope::admin}).verdict, Verdict::unauthenticated)
      << "mTLS asked for: being local is not enough";
}

TEST(Access, WithoutTokensOnlyThisMachineIsServed) {
  const Access access{config::Server{}};
  const auto from = [&](bool loopback, std::string_view host, std::string_view origin) {
    return access.decide({.host = host, .origin = origin, .loopback = loopback}, {Scope::admin}).verdict;
  };
  EXPECT_EQ(from(false, "localhost", ""), Verdict::forbidden);
  for (const char* host :
       {"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", ""}) {
    EXPECT_EQ(from(true, host, ""), Verdict::granted) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "[::2]", "127.evil.example:80", "["}) {
    EXPECT_EQ(from(true, host, ""), Verdict::forbidden) << "DNS rebinding: " << host;
  }
}

TEST(Access, WithoutTokensPagesOfOtherSitesAreRefused) {
  const Access access{config::Server{}};
  const auto from = [&](std::string_view origin) {
    return access.decide({.host = "127.0.0.1:8080", .origin = origin, .loopback = true}, {Scope::ingest})
        .verdict;
  };
  EXPECT_EQ(from("https://evil.example"), Verdict::forbidden);
  EXPECT_EQ(from("null"), Verdict::forbidden);
  EXPECT_EQ(from("http://localhost.evil.example"), Verdict::forbidden);
  EXPECT_EQ(from("http://127.0.0.1:8080"), Verdict::granted);
  EXPECT_EQ(from("http://localhost:3000"), Verdict::granted);
}

}  // namespace
}  // namespace dripgate::auth
