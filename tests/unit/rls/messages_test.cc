// What Envoy's messages mean as checks, and what answers look like as messages.
#include "rls/grpc/messages.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "unit/check/world.h"
#include "unit/server/checker_service.h"

namespace dripgate::rls {
namespace {

using check::World;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using Unit = RateLimitResponse::RateLimit;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::uint32_t kMax32 = std::numeric_limits<std::uint32_t>::max();

using Entries = std::vector<std::pair<std::string, std::string>>;

RateLimitRequest message(const std::vector<Entries>& descriptors, const std::string& domain = "edge") {
  RateLimitRequest message;
  message.set_domain(domain);
  for (const Entries& entries : descriptors) {
    auto& descriptor = *message.add_descriptors();
    for (const auto& [key, value] : entries) {
      auto& entry = *descriptor.add_entries();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  return message;
}

/// Messages in, messages out, over a real Checker on virtual time.
struct Edge {
  explicit Edge(const std::string& policies) : world(policies) {}

  Result<RateLimitResponse> ask(const RateLimitRequest& request) {
    auto requests = read_request(request);
    if (!requests) return std::unexpected(requests.error());
    std::optional<Result<Answers>> got;
    ask_all(gate, *std::move(requests), [&](Result<Answers> answers) { got = std::move(answers); });
    if (!got) return fail(ErrorCode::cancelled, "not answered");
    if (!*got) return std::unexpected(got->error());
    RateLimitResponse response;
    write_response(**got, world.config->server.legacy_headers, response);
    return response;
  }
  RateLimitResponse answer(const RateLimitRequest& request) {
    auto response = ask(request);
    EXPECT_TRUE(response) << response.error().detail;
    return response.value_or(RateLimitResponse{});
  }

  World world;
  server::testing::CheckerService gate{world.checker};
};

std::string header(const RateLimitResponse& response, const std::string& name) {
  for (const auto& header : response.response_headers_to_add())
    if (header.key() == name) return header.value();
  return "(none)";
}

std::string shown(const RateLimitResponse::DescriptorStatus& status) {
  std::string out = RateLimitResponse::Code_Name(status.code());
  if (status.has_current_limit()) {
    out += ' ' + std::to_string(status.current_limit().requests_per_unit()) + '/' +
           Unit::Unit_Name(status.current_limit().unit()) + ' ' + status.current_limit().name();
  }
  out += " left " + std::to_string(status.limit_remaining());
  if (status.has_duration_until_reset())
    out += " for " + std::to_string(status.duration_until_reset().seconds());
  return out;
}

std::string only_status(const RateLimitResponse& response) {
  EXPECT_EQ(response.statuses_size(), 1);
  return response.statuses_size() == 0 ? "" : shown(response.statuses(0));
}

const char* const kTen = R"(
    - id: per-user
      match: { user: "*" }
      key: [user]
      limit: 10
      window: 60s
      onStoreFailure: closed
)";

TEST(RlsRequest, EntriesAndTheDomainAreTheFacts) {
  const auto requests = read_request(message({{{"user", "ada"}, {"remote_address", "203.0.113.7"}}, {}}));
  ASSERT_TRUE(requests);
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_THAT((*requests)[0].descriptor,
              ElementsAre(Pair("domain", "edge"), Pair("ip", "203.0.113.7"), Pair("user", "ada")));
  EXPECT_THAT((*requests)[1].descriptor, ElementsAre(Pair("domain", "edge")));
}

TEST(RlsRequest, ADescriptorsOwnHitsCountBeforeTheRequestsAndOnlyThereZeroIsZero) {
  struct Row {
    std::optional<std::uint32_t> request;
    std::optional<std::uint64_t> descriptor;
    core::Units cost;
  };
  for (const Row& row :
       {Row{std::nullopt, std::nullopt, 1}, Row{0, std::nullopt, 1}, Row{5, std::nullopt, 5},
        Row{kMax32, std::nullopt, kMax32}, Row{5, 0, 0}, Row{std::nullopt, 0, 0}, Row{5, 2, 2},
        Row{std::nullopt, std::numeric_limits<std::uint64_t>::max(), kExactIntegerMax - 1}}) {
    RateLimitRequest request = message({{{"user", "ada"}}});
    if (row.request) request.set_hits_addend(*row.request);
    if (row.descriptor) request.mutable_descriptors(0)->mutable_hits_addend()->set_value(*row.descriptor);
    const auto requests = read_request(request);
    ASSERT_TRUE(requests);
    EXPECT_EQ(requests->front().cost, row.cost);
  }
}

TEST(RlsRequest, WhatIsNoQuestionIsRefusedWithItsPlace) {
  EXPECT_THAT(read_request(message({{{"a", "b"}}}, "")).error().detail, HasSubstr("domain is empty"));
  EXPECT_THAT(read_request(message({})).error().detail, HasSubstr("accepted: 1 to 32"));
  EXPECT_THAT(read_request(message(std::vector<Entries>(33))).error().detail, HasSubstr("33 descriptors"));
  EXPECT_THAT(read_request(message({{}, Entries(65)})).error().detail, HasSubstr("descriptor 2 has 65"));
  EXPECT_THAT(read_request(message({{{"", "b"}}})).error().detail, HasSubstr("without a key"));
  EXPECT_THAT(read_request(message({{{"generic_key", "a"}, {"generic_key", "b"}}})).error().detail,
              HasSubstr("descriptor 1 names 'generic_key' twice"));
  EXPECT_THAT(read_request(message({{{"domain", "other"}}})).error().detail, HasSubstr("'domain' twice"));
  EXPECT_THAT(read_request(message({{{"ip", "1.1.1.1"}, {"remote_address", "2.2.2.2"}}})).error().detail,
              HasSubstr("'ip' twice"));
  for (const int unit : {0, 7, 99}) {
    RateLimitRequest request = message({{{"a", "b"}}});
    request.mutable_descriptors(0)->mutable_limit()->set_unit(
        static_cast<envoy::type::v3::RateLimitUnit>(unit));
    const auto refused = read_request(request);
    ASSERT_FALSE(refused) << unit;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().detail, HasSubstr("limit.unit is " + std::to_string(unit)));
  }
}

TEST(RlsRequest, BytesThatAreNoTextReachTheKey) {
  const std::string wire = message({{{"user", "\xff\xfe\n}{:"}}}).SerializeAsString();
  RateLimitRequest request;
  ASSERT_TRUE(request.ParseFromString(wire)) << "a failed call would be an open gate";
  Edge edge(kTen);
  EXPECT_EQ(only_status(edge.answer(request)), "OK 10/MINUTE per-user left 9 for 60");
  EXPECT_EQ(only_status(edge.answer(message({{{"user", "other"}}}))), "OK 10/MINUTE per-user left 9 for 60");
}

TEST(RlsAnswer, EveryStatusIsFilledAllowedOrNot) {
  Edge edge(kTen);
  const RateLimitRequest request = message({{{"user", "ada"}}});
  for (int left = 9; left >= 0; --left) {
    const RateLimitResponse response = edge.answer(request);
    EXPECT_EQ(response.overall_code(), RateLimitResponse::OK);
    EXPECT_EQ(only_status(response), "OK 10/MINUTE per-user left " + std::to_string(left) + " for 60");
    EXPECT_EQ(header(response, "RateLimit"), "\"per-user\";r=" + std::to_string(left) + ";t=60");
    EXPECT_EQ(response.raw_body(), "");
  }
  const RateLimitResponse response = edge.answer(request);
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(only_status(response), "OVER_LIMIT 10/MINUTE per-user left 0 for 60");
  EXPECT_EQ(header(response, "RateLimit-Policy"), "\"per-user\";q=10;w=60");
  EXPECT_EQ(header(response, "RateLimit"), "\"per-user\";r=0;t=60");
  EXPECT_EQ(header(response, "Retry-After"), "60");
  EXPECT_EQ(header(response, "Cache-Control"), "no-store");
  EXPECT_EQ(header(response, "Content-Type"), "application/problem+json");
  EXPECT_THAT(response.raw_body(), HasSubstr(R"("code":"RATE_LIMITED","policy":"per-user")"));
}

TEST(RlsAnswer, HitsAreTakenWholeOrNotAtAll) {
  Edge edge(kTen);
  RateLimitRequest request = message({{{"user", "ada"}}});
  request.set_hits_addend(7);
  EXPECT_EQ(only_status(edge.answer(request)), "OK 10/MINUTE per-user left 3 for 60");
  request.set_hits_addend(5);
  EXPECT_EQ(only_status(edge.answer(request)), "OVER_LIMIT 10/MINUTE per-user left 3 for 60");
  request.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
  EXPECT_EQ(only_status(edge.answer(request)), "OK 10/MINUTE per-user left 3 for 60");
  request.mutable_descriptors(0)->mutable_hits_addend()->set_value(3);
  EXPECT_EQ(only_status(edge.answer(request)), "OK 10/MINUTE per-user left 0 for 60");
  request.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
  EXPECT_EQ(only_status(edge.answer(request)), "OVER_LIMIT 10/MINUTE per-user left 0 for 60");
  request.mutable_descriptors(0)->mutable_hits_addend()->set_value(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(only_status(edge.answer(request)), "OVER_LIMIT 10/MINUTE per-user left 0");  // no wait suffices
}

TEST(RlsAnswer, NumbersThatDoNotFitAreTheLargestThatDoes) {
  Edge edge(R"(
    - { id: big, key: [user], limit: 5000000000, window: 1d, onStoreFailure: open }
)");
  const RateLimitResponse response = edge.answer(message({{{"user", "ada"}}}));
  ASSERT_EQ(response.statuses_size(), 1);
  EXPECT_EQ(response.statuses(0).current_limit().requests_per_unit(), kMax32);
  EXPECT_EQ(response.statuses(0).limit_remaining(), kMax32);
  EXPECT_THAT(header(response, "RateLimit"), HasSubstr("r=4999999999")) << "headers say the truth";
}

TEST(RlsAnswer, AWindowWithoutAUnitHasTheNearestOne) {
  for (const auto& [window, unit] : std::map<std::string, Unit::Unit>{{"1s", Unit::SECOND},
                                                                      {"7s", Unit::SECOND},
                                                                      {"90s", Unit::MINUTE},
                                                                      {"20m", Unit::HOUR},
                                                                      {"1d", Unit::DAY},
                                                                      {"7d", Unit::WEEK},
                                                                      {"30d", Unit::MONTH},
                                                                      {"300d", Unit::YEAR}}) {
    Edge edge("\n    - { id: odd, limit: 7, window: " + window + ", onStoreFailure: open }\n");
    const RateLimitResponse response = edge.answer(message({{{"user", "ada"}}}));
    ASSERT_EQ(response.statuses_size(), 1);
    EXPECT_EQ(response.statuses(0).current_limit().unit(), unit) << window;
    EXPECT_EQ(response.statuses(0).current_limit().requests_per_unit(), 7u);
  }
}

TEST(RlsAnswer, OneRefusedDescriptorSpendsNothingOfTheOthers) {
  Edge edge(std::string(kTen) + R"(
    - { id: per-ip, match: { ip: "*" }, key: [ip], limit: 2, window: 60s, onStoreFailure: closed }
)");
  const RateLimitRequest both = message({{{"user", "ada"}}, {{"remote_address", "203.0.113.7"}}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(edge.answer(both).overall_code(), RateLimitResponse::OK);
  const RateLimitResponse refused = edge.answer(both);
  EXPECT_EQ(refused.overall_code(), RateLimitResponse::OVER_LIMIT);
  ASSERT_EQ(refused.statuses_size(), 2);
  EXPECT_EQ(shown(refused.statuses(0)), "OK 10/MINUTE per-user left 8 for 60");
  EXPECT_EQ(shown(refused.statuses(1)), "OVER_LIMIT 2/MINUTE per-ip left 0 for 60");
  EXPECT_EQ(header(refused, "RateLimit-Policy"), "\"per-ip\";q=2;w=60, \"per-user\";q=10;w=60");
  EXPECT_EQ(header(refused, "RateLimit"), "\"per-ip\";r=0;t=60");
  EXPECT_EQ(only_status(edge.answer(message({{{"user", "ada"}}}))), "OK 10/MINUTE per-user left 7 for 60");
}

TEST(RlsAnswer, TheTightestOfTheAllowedNamesTheHeaders) {
  Edge edge(std::string(kTen) + R"(
    - { id: per-ip, match: { ip: "*" }, key: [ip], limit: 2, window: 60s, onStoreFailure: closed }
)");
  const RateLimitResponse response =
      edge.answer(message({{{"user", "ada"}}, {{"remote_address", "203.0.113.7"}}, {{"unknown", "x"}}}));
  EXPECT_EQ(header(response, "RateLimit"), "\"per-ip\";r=1;t=60");
  ASSERT_EQ(response.statuses_size(), 3);
  EXPECT_EQ(shown(response.statuses(2)), "OK left " + std::to_string(kMax32)) << "nothing limits it";
}

TEST(RlsAnswer, AClosedPolicyRefusesWhileTheStoreIsAwayAndAnOpenOneDoesNot) {
  Edge edge(std::string(kTen) + R"(
    - { id: soft, match: { soft: "*" }, key: [soft], limit: 2, window: 60s, onStoreFailure: open }
)");
  edge.world.shared.away = true;
  const RateLimitResponse closed = edge.answer(message({{{"user", "ada"}}}));
  EXPECT_EQ(only_status(closed), "OVER_LIMIT left 0 for 1");
  EXPECT_EQ(header(closed, "RateLimit"), "(none)");
  EXPECT_EQ(header(closed, "Retry-After"), "1");
  EXPECT_THAT(closed.raw_body(), HasSubstr("LIMITER_UNAVAILABLE"));
  EXPECT_TRUE(closed.dynamic_metadata().fields().at("unavailable").bool_value()) << "Envoy makes a 503 of it";
  const RateLimitResponse open = edge.answer(message({{{"soft", "x"}}}));
  EXPECT_EQ(only_status(open), "OK left " + std::to_string(kMax32));
  EXPECT_EQ(header(open, "RateLimit"), "(none)");
  EXPECT_FALSE(open.has_dynamic_metadata());
}

TEST(RlsAnswer, ShadowNeverRefuses) {
  Edge edge("\n    - { id: s, limit: 1, window: 60s, onStoreFailure: closed, shadow: true }\n");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(edge.answer(message({{{"user", "ada"}}})).overall_code(), RateLimitResponse::OK);
}

TEST(RlsAnswer, ALimitOfTheDescriptorHasItsOwnCounterInPlaceOfTheMostSpecificPolicys) {
  Edge edge(std::string(kTen) + "\n    - { id: all, limit: 100, window: 60s, onStoreFailure: closed }\n");
  RateLimitRequest request = message({{{"user", "ada"}}});
  auto& limit = *request.mutable_descriptors(0)->mutable_limit();
  limit.set_requests_per_unit(2);
  limit.set_unit(envoy::type::v3::HOUR);
  EXPECT_EQ(only_status(edge.answer(request)), "OK 2/HOUR per-user left 1 for 3600");
  EXPECT_EQ(only_status(edge.answer(request)), "OK 2/HOUR per-user left 0 for 3600");
  EXPECT_EQ(only_status(edge.answer(request)), "OVER_LIMIT 2/HOUR per-user left 0 for 3600");
  request.mutable_descriptors(0)->clear_limit();
  EXPECT_EQ(only_status(edge.answer(request)), "OK 10/MINUTE per-user left 9 for 60");
  EXPECT_EQ(only_status(edge.answer(message({{}}))), "OK 100/MINUTE all left 96 for 60");
  request.mutable_descriptors(0)->mutable_limit()->set_unit(envoy::type::v3::DAY);
  EXPECT_EQ(edge.answer(request).overall_code(), RateLimitResponse::OVER_LIMIT) << "0 admits nobody";
}

TEST(RlsAnswer, WhatALimitOfTheDescriptorTookIsGivenBackToItsCounter) {
  Edge edge(std::string(kTen) +
            "\n    - { id: none, match: { never: \"*\" }, limit: 0, window: 60s, onStoreFailure: closed }\n");
  RateLimitRequest request = message({{{"user", "ada"}}, {{"never", "x"}}});
  auto& limit = *request.mutable_descriptors(0)->mutable_limit();
  limit.set_requests_per_unit(2);
  limit.set_unit(envoy::type::v3::MINUTE);
  for (int i = 0; i < 5; ++i) {
    const RateLimitResponse refused = edge.answer(request);
    ASSERT_EQ(refused.statuses_size(), 2);
    EXPECT_EQ(shown(refused.statuses(0)), "OK 2/MINUTE per-user left 2 for 60");
  }
}

TEST(RlsAnswer, ARequestWithOneWrongDescriptorSpendsNothing) {
  std::string policies = kTen;
  for (int i = 0; i < 33; ++i) {
    policies += "    - { id: many" + std::to_string(i) +
                ", match: { many: \"*\" }, limit: 5, window: 60s, onStoreFailure: closed }\n";
  }
  Edge edge(policies);
  const auto refused = edge.ask(message({{{"user", "ada"}}, {{"many", "x"}}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(only_status(edge.answer(message({{{"user", "ada"}}}))), "OK 10/MINUTE per-user left 9 for 60");
}

/// "call NAME=VALUE [request N] [descriptor N] -> CODE left N", tests/golden/cases/*.call.
void play_call(Edge& edge, const std::string& line) {
  SCOPED_TRACE(line);
  std::istringstream words(line);
  std::string word, code;
  words >> word >> word;
  const std::size_t equals = word.find('=');
  RateLimitRequest request = message({{{word.substr(0, equals), word.substr(equals + 1)}}});
  std::uint64_t number = 0;
  while (words >> word && word != "->") {
    words >> number;
    if (word == "request") request.set_hits_addend(static_cast<std::uint32_t>(number));
    if (word == "descriptor") request.mutable_descriptors(0)->mutable_hits_addend()->set_value(number);
  }
  words >> code >> word >> number;
  const RateLimitResponse response = edge.answer(request);
  ASSERT_EQ(response.statuses_size(), 1);
  EXPECT_EQ(RateLimitResponse::Code_Name(response.statuses(0).code()), code);
  EXPECT_EQ(response.statuses(0).limit_remaining(), number);
}

TEST(RlsGolden, CallsAreAnsweredAsTheTextSays) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DRIPGATE_SOURCE_DIR "/tests/golden/cases")) {
    if (entry.path().extension() != ".call") continue;
    ++files;
    std::ifstream in(entry.path());
    std::string policies;
    std::vector<std::string> calls;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(' ')) policies += line + "\n";
      if (line.starts_with("call ")) calls.push_back(line);
    }
    Edge edge(policies);
    for (const std::string& call : calls) play_call(edge, call);
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace dripgate::rls
