// Identity tokens: who is let in, and every way not to be.
#include "auth/identity_token.h"

#include <gtest/gtest.h>
#include <openssl/hmac.h>

#include "auth/key_ring.h"
#include "support/token_signer.h"
#include "support/virtual_time.h"

namespace dripgate::auth {
namespace {

using testing::kT0;
using testing::to_base64url;
using testing::TokenClaims;
using testing::TokenSigner;

const TokenSigner& google() {
  static const TokenSigner signer("key-1");
  return signer;
}

TokenClaims claims() {
  return {.issued = kT0};
}

const TokenRules kRules{.issuer = "https://accounts.google.com",
                        .audience = "https://dispatch.example.com",
                        .email = "tasks@acme-payments.iam.gserviceaccount.com"};

TokenFault fault_of(std::string_view token, WallTime now = kT0) {
  const auto keys = TokenKeys::parse(google().jwks());
  return check_token(token, keys->get(), kRules, now).fault;
}

TEST(IdentityToken, OfTheAccountAndForThisAudienceIsTaken) {
  EXPECT_EQ(fault_of(google().sign(claims())), TokenFault::none);
  TokenClaims bare = claims();
  bare.issuer = "accounts.google.com";
  EXPECT_EQ(fault_of(google().sign(bare)), TokenFault::none) << "the issuer without its scheme";
}

TEST(IdentityToken, ForgedAfterSigningIsRefused) {
  const std::string token = google().sign(claims());
  TokenClaims richer = claims();
  richer.life = std::chrono::hours{2};
  const std::string other = google().sign(richer);
  const auto claims_of = [](const std::string& t) {
    return t.substr(t.find('.') + 1, t.rfind('.') - t.find('.') - 1);
  };
  std::string mixed = token;
  mixed.replace(mixed.find('.') + 1, claims_of(token).size(), claims_of(other));
  EXPECT_EQ(fault_of(mixed), TokenFault::signature);
  EXPECT_EQ(fault_of(token.substr(0, token.rfind('.') + 1)), TokenFault::signature) << "no signature";
}

TEST(IdentityToken, ExpiredIsRefusedAndTheClocksMayDifferByTheSkewOnly) {
  const std::string token = google().sign(claims());
  const WallTime ends = kT0 + std::chrono::hours{1};
  EXPECT_EQ(fault_of(token, ends + kTokenSkew - 1s), TokenFault::none);
  EXPECT_EQ(fault_of(token, ends + kTokenSkew), TokenFault::expired);
  EXPECT_EQ(fault_of(token, kT0 - kTokenSkew), TokenFault::none);
  EXPECT_EQ(fault_of(token, kT0 - kTokenSkew - 1s), TokenFault::not_yet_valid);
}

TEST(IdentityToken, MadeForLongerThanADayIsRefused) {
  TokenClaims day = claims();
  day.life = kTokenLifeMax;
  EXPECT_EQ(fault_of(google().sign(day)), TokenFault::none);
  day.life += 1s;
  EXPECT_EQ(fault_of(google().sign(day)), TokenFault::expired);
}

TEST(IdentityToken, ForAnotherAudienceIsForbidden) {
  for (const char* audience : {"https://elsewhere.example.com", "https://dispatch.example.com/", ""}) {
    TokenClaims wrong = claims();
    wrong.audience = audience;
    EXPECT_EQ(fault_of(google().sign(wrong)), TokenFault::audience) << audience;
  }
  EXPECT_TRUE(is_forbidden(TokenFault::audience));
}

TEST(IdentityToken, OfAnotherAccountOrOfOneNotVerifiedIsForbidden) {
  TokenClaims wrong = claims();
  wrong.email = "someone@acme-payments.iam.gserviceaccount.com";
  EXPECT_EQ(fault_of(google().sign(wrong)), TokenFault::account);
  for (const char* verified : {"false", "\"true\"", "1", ""}) {
    wrong = claims();
    wrong.email_verified = verified;
    EXPECT_EQ(fault_of(google().sign(wrong)), TokenFault::account) << verified;
  }
  EXPECT_TRUE(is_forbidden(TokenFault::account));
  EXPECT_FALSE(is_forbidden(TokenFault::expired));
}

TEST(IdentityToken, WithAlgorithmNoneIsRefused) {
  for (const char* algorithm : {"none", "None", "NONE", ""}) {
    const std::string head = google().header(algorithm);
    EXPECT_EQ(fault_of(to_base64url(head) + "." + to_base64url(to_json(claims())) + "."),
              TokenFault::algorithm);
    EXPECT_EQ(fault_of(google().sign_raw(head, to_json(claims()))), TokenFault::algorithm);
  }
}

TEST(IdentityToken, SignedByHs256WithThePublicKeyAsItsSecretIsRefused) {
  const std::string text = to_base64url(google().header("HS256")) + "." + to_base64url(to_json(claims()));
  const std::string pem = google().public_pem();
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), pem.data(), static_cast<int>(pem.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size);
  const std::string token = text + "." + to_base64url({reinterpret_cast<const char*>(mac), size});
  EXPECT_EQ(fault_of(token), TokenFault::algorithm);
}

TEST(IdentityToken, OfAWrongKeyIsRefused) {
  const TokenSigner same_name("key-1");
  EXPECT_EQ(fault_of(same_name.sign(claims())), TokenFault::signature);
  const TokenSigner other("key-2");
  EXPECT_EQ(fault_of(other.sign(claims())), TokenFault::unknown_key);
  EXPECT_EQ(fault_of(google().sign_raw(R"({"alg":"RS256"})", to_json(claims()))), TokenFault::unknown_key);
}

TEST(IdentityToken, WithAKeyOfItsOwnInTheHeaderIsRefused) {
  const TokenSigner own("key-9");
  const std::string head = R"({"alg":"RS256","kid":"key-9","jwk":)" + own.jwk() + "}";
  EXPECT_EQ(fault_of(own.sign_raw(head, to_json(claims()))), TokenFault::unknown_key);
  const std::string critical = R"({"alg":"RS256","kid":"key-1","crit":["exp"]})";
  EXPECT_EQ(fault_of(google().sign_raw(critical, to_json(claims()))), TokenFault::algorithm);
}

TEST(IdentityToken, OfAnotherIssuerIsRefused) {
  for (const char* issuer : {"https://evil.example.com", "https://accounts.google.com.evil.example", ""}) {
    TokenClaims wrong = claims();
    wrong.issuer = issuer;
    EXPECT_EQ(fault_of(google().sign(wrong)), TokenFault::issuer) << issuer;
  }
}

TEST(IdentityToken, ThatIsNoTokenIsRefusedWithoutHarm) {
  EXPECT_EQ(fault_of(""), TokenFault::missing);
  const std::string token = google().sign(claims());
  for (const std::string& text :
       {std::string("x"), std::string(".."), "a." + token, token + ".a", std::string(kTokenBytesMax + 1, 'a'),
        std::string("a.b.c"), std::string("\0.\0.\0", 5)}) {
    EXPECT_EQ(fault_of(text), TokenFault::malformed) << text.substr(0, 40);
  }
  EXPECT_NE(fault_of(token + "="), TokenFault::none) << "one spelling only";
  for (const char* body : {"[]", "7", "{", R"({"iss":"https://accounts.google.com"})",
                           R"({"iss":"https://accounts.google.com","iat":1.5,"exp":2e9})",
                           R"({"iss":"https://accounts.google.com","iat":-1,"exp":18446744073709551615})"}) {
    EXPECT_EQ(fault_of(google().sign_raw(google().header(), body)), TokenFault::malformed) << body;
  }
}

TEST(IdentityToken, CannotBeJudgedWithoutKeys) {
  EXPECT_EQ(check_token(google().sign(claims()), nullptr, kRules, kT0).fault, TokenFault::no_keys);
}

TEST(TokenKeys, WhatAKeySaysOfItsAlgorithmDoesNotCountAndOthersAreLeftOut) {
  const TokenSigner short_key("short", 1024);
  const std::string text = R"({"keys":[{"kty":"EC","kid":"e","crv":"P-256","x":"AA","y":"AA"},7,)" +
                           short_key.jwk() + R"(,{"kty":"RSA","kid":"bad","n":"*","e":"AQAB"},)" +
                           google().jwk("RSA256") + "]}";
  const auto keys = TokenKeys::parse(text);
  ASSERT_TRUE(keys) << keys.error().detail;
  EXPECT_EQ((*keys)->size(), 1u);
  EXPECT_EQ(check_token(google().sign(claims()), keys->get(), kRules, kT0).fault, TokenFault::none);
  for (const char* wrong : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})"})
    EXPECT_FALSE(TokenKeys::parse(wrong)) << wrong;
}

/// A ring whose issuer answers at once with what is set here.
struct RingSite {
  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  Result<FetchedKeys> answer = FetchedKeys{google().jwks(), 1h};
  int fetches = 0;
  int failures = 0;
  KeyRing ring{executor, clock,
               [this](Done<FetchedKeys> done) {
                 ++fetches;
                 done(answer);
               },
               [this](const Error* error) { failures += error != nullptr; }};

  TokenFault check(const TokenSigner& signer) {
    return ring.check("Bearer " + signer.sign({.issued = clock.now()}), kRules).fault;
  }
};

TEST(KeyRing, FetchesAtStartAndWhenTheKeysGrowOld) {
  RingSite site;
  EXPECT_EQ(site.check(google()), TokenFault::no_keys);
  site.ring.start();
  EXPECT_EQ(site.check(google()), TokenFault::none);
  site.executor.run_for(59min);
  EXPECT_EQ(site.fetches, 1);
  site.executor.run_for(2min);
  EXPECT_EQ(site.fetches, 2);
}

TEST(KeyRing, ANewKeyOfTheIssuerIsFoundAndForgedKeyIdsCauseFewRequests) {
  RingSite site;
  site.ring.start();
  site.executor.run_for(kUnknownKeyEvery);
  const TokenSigner rotated("key-2");
  site.answer = FetchedKeys{rotated.jwks(), 1h};
  EXPECT_EQ(site.check(rotated), TokenFault::unknown_key);
  site.executor.run_ready();
  EXPECT_EQ(site.check(rotated), TokenFault::none);
  const TokenSigner forger("key-3");
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(site.check(forger), TokenFault::unknown_key);
    site.executor.run_for(1s);
  }
  EXPECT_LE(site.fetches, 2 + 60s / kUnknownKeyEvery);
}

TEST(KeyRing, KeepsTheLastKeysForADayWhileTheIssuerIsAway) {
  RingSite site;
  site.ring.start();
  site.answer = fail(ErrorCode::unavailable, "away", true);
  site.executor.run_for(kKeysStaleMax - 1s);
  EXPECT_EQ(site.check(google()), TokenFault::none);
  EXPECT_GT(site.failures, 0);
  EXPECT_LT(site.fetches, 24 * 60 + 60) << "once a minute at most";
  site.executor.run_for(2s);
  EXPECT_EQ(site.check(google()), TokenFault::no_keys);
  site.answer = FetchedKeys{google().jwks(), 1h};
  site.executor.run_for(kKeysRetryMax);
  EXPECT_EQ(site.check(google()), TokenFault::none);
}

TEST(KeyRing, AKeySetThatCannotBeReadChangesNothing) {
  RingSite site;
  site.ring.start();
  site.answer = FetchedKeys{"<html>", 1h};
  site.executor.run_for(2h);
  EXPECT_GT(site.failures, 0);
  EXPECT_EQ(site.check(google()), TokenFault::none);
}

}  // namespace
}  // namespace dripgate::auth
