// Random histories of both APIs against the plain model, and many callers at once, on the memory store and on
// a real Redis Cluster. DRIPGATE_HISTORIES=N runs as many of each (./dev soak histories: 10,000),
// DRIPGATE_HISTORY_SEED=S that one alone. A failure prints its seed.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "integration_rls/gate_history.h"

namespace dripgate::histories {
namespace {

constexpr int kHistories = 250;  // in `./dev test`, of each store
constexpr int kReachedMin = 15;
constexpr std::uint64_t kFirstSeed = 1;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

class Histories : public ::testing::TestWithParam<Where> {};

INSTANTIATE_TEST_SUITE_P(On, Histories, ::testing::Values(Where::memory, Where::redis_cluster),
                         [](const auto& info) {
                           return info.param == Where::memory ? "Memory" : "RedisCluster";
                         });

void report(const Reached& r, std::uint64_t histories) {
  std::printf(
      "%llu histories: %d checks allowed, %d denied, %d impossible, %d peeks; %d over two slots and more, %d "
      "with an "
      "override; %d denials in which another policy had room, %d of shadows; refunds: %d given, %d repeated, "
      "%d "
      "too late; calls: %d allowed, %d refused, %d descriptors given back; waits kept %d, one us short %d\n",
      static_cast<unsigned long long>(histories), r.allowed, r.denied, r.impossible, r.peeks, r.two_slots,
      r.overridden, r.partly_denied, r.shadow_denied, r.refunds, r.refunds_repeated, r.refunds_late,
      r.rls_allowed, r.rls_denied, r.rls_given_back, r.promises_kept, r.promises_one_short);
}

TEST_P(Histories, OfChecksRefundsAndCallsAnswerAsThePlainModel) {
  GateWorld world(GetParam(), kPolicies);
  HttpCaller http = world.http();
  const auto rls = world.rls();
  Reached reached;
  const std::uint64_t one = number_from("DRIPGATE_HISTORY_SEED", 0);
  const std::uint64_t count = one == 0 ? number_from("DRIPGATE_HISTORIES", kHistories) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = one == 0 ? kFirstSeed + i : one;
    GateHistory history(world, http, *rls, GetParam(), reached, seed);
    const std::string wrong = history.run();
    ASSERT_EQ(wrong, "") << "DRIPGATE_HISTORY_SEED=" << seed;
  }
  report(reached, count);
  if (one != 0) return;
  for (const int times :
       {reached.allowed, reached.denied, reached.impossible, reached.peeks, reached.two_slots,
        reached.partly_denied, reached.overridden, reached.shadow_denied, reached.refunds,
        reached.refunds_repeated, reached.refunds_late, reached.rls_allowed, reached.rls_denied,
        reached.rls_given_back, reached.promises_kept, reached.promises_one_short})
    EXPECT_GT(times, kReachedMin);
}

// --- many at once: login by ip and user, and by user, on two slots

constexpr int kRounds = 20;
constexpr int kChecks = 240;  // of one batch
constexpr int kIps = 5;
constexpr int kUsers = 7;
constexpr int kPerIpAndUser = 4;  // limits of kPolicies
constexpr int kPerUser = 6;

struct Login {
  std::string ip, user;
};

nlohmann::json attributes(const Login& login) {
  return {{"route", "POST /auth/login"}, {"ip", login.ip}, {"user", login.user}};
}

using Admitted = std::map<std::string, std::int64_t>;

void admit(Admitted& admitted, const Login& login, std::int64_t cost) {
  admitted[login.ip + "|" + login.user] += cost;
  admitted[login.user] += cost;
}

/// A batch over HTTP and calls over gRPC, all in flight together.
Admitted crowd(GateWorld& world, std::mt19937_64& random, int round) {
  const auto any_login = [&] {
    return Login{.ip = "10.9.0." + std::to_string(random() % kIps),
                 .user = "free-" + std::to_string(round) + "-" + std::to_string(random() % kUsers)};
  };
  std::vector<Login> logins;
  std::vector<std::int64_t> costs;
  nlohmann::json checks = nlohmann::json::array();
  for (int i = 0; i < kChecks; ++i) {
    logins.push_back(any_login());
    costs.push_back(1 + static_cast<std::int64_t>(random() % 3));
    checks.push_back({{"attributes", attributes(logins.back())}, {"cost", costs.back()}});
  }
  std::vector<Login> calls;
  for (int i = 0; i < kChecks / 4; ++i) calls.push_back(any_login());
  Admitted admitted;
  Admitted by_calls;
  std::thread caller([&] {
    const auto rls = world.rls();
    for (const Login& login : calls) {
      rls_v3::RateLimitRequest request;
      request.set_domain("edge");
      auto& descriptor = *request.add_descriptors();
      for (const auto& [key, value] : attributes(login).items()) {
        auto& entry = *descriptor.add_entries();
        entry.set_key(key);
        entry.set_value(value.get<std::string>());
      }
      grpc::ClientContext context;
      rls_v3::RateLimitResponse response;
      const grpc::Status status = rls->ShouldRateLimit(&context, request, &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (response.overall_code() == rls_v3::RateLimitResponse::OK) admit(by_calls, login, 1);
    }
  });
  const nlohmann::json said = world.http().post("/v1/check", {{"checks", checks}});
  caller.join();
  EXPECT_TRUE(said.is_object()) << said.dump();
  for (std::size_t i = 0; i < logins.size(); ++i)
    if (said["decisions"][i]["allowed"] == true) admit(admitted, logins[i], costs[i]);
  for (const auto& [key, units] : by_calls) admitted[key] += units;
  return admitted;
}

TEST_P(Histories, ManyLoginsAtOnceOverTwoSlotsAreNeverOverAdmittedAndADenialGivesBack) {
  GateWorld world(GetParam(), kPolicies);
  HttpCaller http = world.http();
  std::mt19937_64 random(kFirstSeed);
  for (int round = 0; round < kRounds; ++round) {
    world.set(world.now() + std::chrono::hours{1});
    Admitted admitted = crowd(world, random, round);
    for (int user = 0; user < kUsers; ++user) {
      for (int ip = 0; ip < kIps; ++ip) {
        const Login login{.ip = "10.9.0." + std::to_string(ip),
                          .user = "free-" + std::to_string(round) + "-" + std::to_string(user)};
        const std::int64_t by_both = admitted[login.ip + "|" + login.user];
        const std::int64_t by_user = admitted[login.user];
        ASSERT_LE(by_both, kPerIpAndUser) << "round " << round;
        ASSERT_LE(by_user, kPerUser) << "round " << round;
        // What is left is what was not admitted: the denials have given everything back.
        const nlohmann::json left =
            http.post("/v1/explain", {{"attributes", attributes(login)}, {"cost", 0}});
        for (const nlohmann::json& policy : left["matched"]) {
          if (policy["policy"] != "login-ip" && policy["policy"] != "login-user") continue;
          const nlohmann::json& remaining = policy["limits"][0]["remaining"];
          if (remaining.is_null()) continue;  // the other one refuses, and this one's slot was not asked
          const bool both = policy["policy"] == "login-ip";
          ASSERT_EQ(remaining, both ? kPerIpAndUser - by_both : kPerUser - by_user)
              << "round " << round << ", " << policy.dump();
        }
      }
    }
  }
}

}  // namespace
}  // namespace dripgate::histories
