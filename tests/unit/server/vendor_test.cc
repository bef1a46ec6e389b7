// The wire contract of acquire and observe, and their routes.
#include "server/vendor_body.h"
#include "unit/server/fake_service.h"

namespace dripgate::server::testing {
namespace {

using nlohmann::json;

struct FakeVendors final : VendorService {
  std::optional<Error> error;
  vendor::Acquired acquired{.allowed = true, .id = "s1-5"};
  vendor::ObserveCall seen;
  void acquire(vendor::AcquireCall, Done<vendor::Acquired> done) override {
    error ? done(std::unexpected(*error)) : done(acquired);
  }
  void observe(vendor::ObserveCall call, Done<vendor::Observed> done) override {
    seen = std::move(call);
    done(vendor::Observed{.frozen_until = kNow + 2s,
                          .retry_after = 1'999'001us,
                          .remaining = 0,
                          .applied = {"freeze", "returned"},
                          .refused = true});
  }
  void inspect(const std::string&, const core::Descriptor&, Done<vendor::VendorStatus> done) override {
    done(fail(ErrorCode::not_found, "no vendor 'x'; known: hubspot"));
  }
  void freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
              Done<vendor::Operated> done) override {
    seen.vendor = vendor;
    seen.attributes = attributes;
    if (error) return done(std::unexpected(*error));
    done(vendor::Operated{.key = "hubspot:42", .frozen_until = kNow + span});
  }
  void thaw(const std::string&, const core::Descriptor& attributes, Done<vendor::Operated> done) override {
    seen.attributes = attributes;
    done(vendor::Operated{.key = "hubspot:42", .frozen_until = {}});
  }
};

class VendorRoutes : public ::testing::Test {
 protected:
  http::Response post(const std::string& path, const std::string& body) {
    http::Request request{.method = "POST", .target = path, .headers = {{"Host", "127.0.0.1"}}, .body = body};
    request.peer = {.address = "127.0.0.1", .port = 1, .loopback = true};
    std::optional<http::Response> answer;
    routes.handler(std::move(request), [&](http::Response r) { answer = std::move(r); });
    return answer.value_or(http::Response{.status = 0});
  }

  FakeService service;
  FakeVendors vendors;
  obs::Metrics metrics;
  std::string audit;
  obs::Log log{{.write = [this](std::string_view line) { audit += line; }}};
  config::ConfigPtr config = std::make_shared<const config::Config>();
  Routes routes = make_routes({.service = service,
                               .config = [this] { return config; },
                               .metrics = metrics,
                               .log = log,
                               .vendors = &vendors});
};

constexpr const char* kAcquire = R"({"vendor":"hubspot","attributes":{"portal":"42"},"cost":1})";

TEST_F(VendorRoutes, AnAllowedAcquireSaysAllMembers) {
  vendors.acquired.remaining = 12;
  const auto answer = post("/v1/acquire", kAcquire);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(json::parse(answer.body),
            json::parse(R"({"allowed":true,"id":"s1-5","remainingTokens":12,"retryAfterSeconds":null,)"
                        R"("retryAfterMs":null,"frozenUntil":null,"degraded":null})"));
}

TEST_F(VendorRoutes, ADenialRoundsItsWaitsUp) {
  vendors.acquired = {.allowed = false, .remaining = 0, .retry_after = 1500us, .frozen_until = kNow + 2s};
  const auto body = json::parse(post("/v1/acquire", kAcquire).body);
  EXPECT_EQ(body,
            json::parse(R"({"allowed":false,"id":null,"remainingTokens":0,"retryAfterSeconds":1,)"
                        R"("retryAfterMs":2,"frozenUntil":"2027-01-15T08:00:02.000Z","degraded":null})"));
}

TEST_F(VendorRoutes, ErrorsAreProblemDocuments) {
  EXPECT_EQ(post("/v1/acquire", "{}").status, 400);
  EXPECT_EQ(post("/v1/acquire", R"({"vendor":"a","cost":-1})").status, 400);
  EXPECT_EQ(post("/v1/acquire", R"({"vendor":"a","cots":1})").status, 400);
  EXPECT_EQ(post("/v1/observe", R"({"vendor":"a"})").status, 400) << "no status";
  EXPECT_EQ(post("/v1/observe", R"({"vendor":"a","status":200,"headers":{"a":1}})").status, 400);
  EXPECT_EQ(post("/v1/observe", R"({"vendor":"a","status":200,"sentAt":"soon"})").status, 400);
  vendors.error = Error{ErrorCode::not_found, false, "no vendor 'a'; known: hubspot"};
  const auto unknown = post("/v1/acquire", kAcquire);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.body.find("known: hubspot"), std::string::npos);
  vendors.error = Error{ErrorCode::unavailable, true, "closed"};
  const auto closed = post("/v1/acquire", kAcquire);
  EXPECT_EQ(closed.status, 503);
  EXPECT_EQ(json::parse(closed.body)["type"], "/errors/limiter-unavailable") << "as a check says it";
  EXPECT_EQ(http::value_of(closed.headers, "Retry-After"), "1");
  vendors.error.reset();
  vendors.acquired = {.impossible = true};
  EXPECT_EQ(post("/v1/acquire", kAcquire).status, 400) << "no wait helps";
}

TEST_F(VendorRoutes, AnObservationIsReadInAllItsForms) {
  const auto answer =
      post("/v1/observe", R"({"vendor":"hubspot","attributes":{"portal":42,"live":true},"id":"s1-5",)"
                          R"("status":429,"headers":{"Retry-After":"2","X-A":["1","2"]},)"
                          R"("sentAt":1800000000123,"cost":{"tokens":700},"reason":"x"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(
      json::parse(answer.body),
      json::parse(
          R"({"refused":true,"retryAfterSeconds":2,"retryAfterMs":2000,"frozenUntil":"2027-01-15T08:00:02.000Z",)"
          R"("remainingTokens":0,"applied":["freeze","returned"],"degraded":null})"));
  EXPECT_EQ(vendors.seen.attributes.at("portal"), "42");
  EXPECT_EQ(vendors.seen.attributes.at("live"), "true");
  EXPECT_EQ(vendors.seen.answer.headers.size(), 3U);
  EXPECT_EQ(vendors.seen.sent, kNow + 123ms);
  EXPECT_EQ(vendors.seen.actual.at("tokens"), 700);
  EXPECT_EQ(post("/v1/observe", R"({"vendor":"a","status":200,"sentAt":"2027-01-15T08:00:00Z"})").status,
            200);
  EXPECT_EQ(vendors.seen.sent, kNow);
}

TEST_F(VendorRoutes, AVendorNeedsNoStreamOfItsName) {
  http::Request request{
      .method = "GET", .target = "/v1/vendors/x?portal=42", .headers = {{"Host", "127.0.0.1"}}, .body = {}};
  request.peer = {.address = "127.0.0.1", .port = 1, .loopback = true};
  std::optional<http::Response> answer;
  routes.handler(std::move(request), [&](http::Response r) { answer = std::move(r); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(json::parse(answer->body)["detail"], "no vendor 'x'; known: hubspot");
}

TEST_F(VendorRoutes, AnOperatorFreezesAndThawsAKey) {
  const auto frozen = post("/v1/vendors/hubspot/freeze?portal=42", R"({"for":"90s"})");
  EXPECT_EQ(frozen.status, 200);
  EXPECT_EQ(
      json::parse(frozen.body),
      json::parse(R"({"vendor":"hubspot","key":"hubspot:42","frozenUntil":"2027-01-15T08:01:30.000Z"})"));
  EXPECT_EQ(vendors.seen.attributes.at("portal"), "42");
  const auto thawed = post("/v1/vendors/hubspot/thaw?portal=43", "");
  EXPECT_EQ(json::parse(thawed.body),
            json::parse(R"({"vendor":"hubspot","key":"hubspot:42","frozenUntil":null})"));
  EXPECT_EQ(vendors.seen.attributes.at("portal"), "43");
  for (const char* wrong : {"", R"({"for":"soon"})", R"({"until":"2020-01-01T00:00:00Z"})",
                            R"({"for":"1s","until":"2030-01-01T00:00:00Z"})"})
    EXPECT_EQ(post("/v1/vendors/hubspot/freeze?portal=42", wrong).status, 400) << wrong;
  EXPECT_EQ(post("/v1/vendors/hubspot/thaw?portal=42", R"({"for":"1s"})").status, 400);
  EXPECT_NE(audit.find("vendor-freeze"), std::string::npos) << audit;
  EXPECT_NE(audit.find("hubspot:42"), std::string::npos) << audit;
  vendors.error = Error{ErrorCode::unavailable, true, "the store does not answer"};
  EXPECT_EQ(post("/v1/vendors/hubspot/freeze?portal=42", R"({"for":"90s"})").status, 503);
}

}  // namespace
}  // namespace dripgate::server::testing
