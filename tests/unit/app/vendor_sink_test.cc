// A stream that delivers to a vendor: the product's own pipeline, vendor use case and stores on virtual time,
// and a vendor that answers as told.
#include "app/vendor_sink.h"

#include "unit/drip/pipeline_fixture.h"

namespace dripgate::app {
namespace {

using drip::Delivered;
using testing::kT0;

/// The vendor's API: answers what `play` says of the delivery, or holds it.
class PlayedVendor final : public broker::Sink {
 public:
  explicit PlayedVendor(Clock& clock) : clock_(clock) {}
  using Finished = std::move_only_function<void(broker::SinkAnswer)>;

  void deliver(broker::Outgoing outgoing, Finished done) override {
    if (clock_.now() >= outgoing.valid_until) return done({broker::SinkVerdict::expired, {}, ""});
    seen.push_back(
        {*broker::find(outgoing.message.attributes, "dripgate-id"), outgoing.message, clock_.now()});
    const int status = play(seen.back());
    if (status == 0) return held.push_back(std::move(done));
    done(answer(status));
  }
  /// As an HTTP sink answers that keeps headers.
  [[nodiscard]] broker::SinkAnswer answer(int status) const {
    broker::SinkAnswer made;
    made.status = status;
    if (status != 429) return made;
    made.verdict = broker::SinkVerdict::rate_limited;
    made.headers = {{"Retry-After", retry_after}};
    return made;
  }
  [[nodiscard]] std::map<WallTime, int> by(Duration window) const {
    std::map<WallTime, int> counted;
    for (const Delivered& one : seen) ++counted[one.at - one.at.time_since_epoch() % window];
    return counted;
  }

  std::function<int(const Delivered&)> play = [](const Delivered&) { return 200; };  // a status; 0: held
  std::string retry_after = "120";
  std::vector<Delivered> seen;
  std::vector<Finished> held;

 private:
  Clock& clock_;
};

class VendorSinkTest : public drip::PipelineFixture, public server::VendorService, private vendor::Observer {
 protected:
  VendorSinkTest() {
    front = &vendor_sink;
    set_vendor({});
  }
  void acquire(vendor::AcquireCall call, Done<vendor::Acquired> done) override {
    keys.push_back(call.attributes);
    vendors.acquire(call, std::move(done));
  }
  void observe(vendor::ObserveCall call, Done<vendor::Observed> done) override {
    vendors.observe(call, std::move(done));
  }
  void inspect(const std::string& vendor, const core::Descriptor& attributes,
               Done<vendor::VendorStatus> done) override {
    vendors.inspect(vendor, attributes, std::move(done));
  }
  void freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
              Done<vendor::Operated> done) override {
    vendors.freeze(vendor, attributes, span, std::move(done));
  }
  void thaw(const std::string& vendor, const core::Descriptor& attributes,
            Done<vendor::Operated> done) override {
    vendors.thaw(vendor, attributes, std::move(done));
  }

  /// No limit of ours unless named: the vendor's refusals alone count.
  void set_vendor(std::vector<core::Limit> limits, const std::string& key = "crm") {
    core::VendorPolicy policy;
    policy.concurrent = limits.empty() ? 1000 : 0;
    config.id = "crm";
    config.key = core::KeyTemplate::parse(key).value();
    config.dimensions.assign(limits.size(), "requests");
    policy.limits = std::move(limits);
    config.policy = std::make_shared<const core::VendorPolicy>(std::move(policy));
  }
  static core::Limit window(core::Units units, Duration length) {
    return {.algorithm = core::Algorithm::fixed_window,
            .limit = units,
            .window = length,
            .capacity = units,
            .zone = nullptr};
  }
  static core::Limit bucket(core::Units units, Duration length) {
    core::Limit made = window(units, length);
    made.algorithm = core::Algorithm::token_bucket;
    return made;
  }
  void set_even(core::Units units, Duration length) {
    set_limit(units, length);
    auto even = std::make_shared<core::BookingPolicy>(*stream->booking);
    even->spread = core::Spread::even;
    stream->booking = std::move(even);
  }
  void run_until(Duration since_t0) { executor.run_for(kT0 + since_t0 - clock.now()); }
  std::string attempt_of(const Delivered& one) {
    return *broker::find(one.message.attributes, broker::kAttemptAttribute);
  }
  core::VendorView view() {
    std::optional<core::VendorView> seen;
    vendors.inspect("crm", {}, [&](Result<vendor::VendorStatus> status) { seen = status.value().view; });
    return seen.value();
  }
  /// 500 events at 08:00:01 under 100 a minute; the last of the first 100 hears 429 at 08:00:30.
  void refuse_one_of_five_hundred() {
    set_even(100, 60s);
    vendor_api.play = [this](const Delivered&) { return clock.now() < kT0 + 2s ? 0 : 200; };
    start();
    run_until(1s);
    for (int i = 0; i < 500; ++i) publish("e" + std::to_string(i));
    run_until(2s);
    ASSERT_EQ(vendor_api.held.size(), 100U);
    for (std::size_t i = 0; i < 99; ++i) vendor_api.held[i](vendor_api.answer(200));
    refused = vendor_api.seen.at(99).id;
    run_until(30s);
    ASSERT_EQ(status().backlog, 400U);
    vendor_api.held[99](vendor_api.answer(429));
    run_until(31s);
  }
  void expect_all_delivered(std::size_t events, std::size_t refusals) {
    EXPECT_EQ(vendor_api.seen.size(), events + refusals);
    std::set<std::string> ids;
    for (const Delivered& one : vendor_api.seen) {
      ids.insert(one.id);
      EXPECT_EQ(attempt_of(one), "1") << "being refused is no attempt: " << one.id;
    }
    EXPECT_EQ(ids.size(), events);
    EXPECT_TRUE(dead().empty());
    EXPECT_EQ(waiting(), 0U);
    EXPECT_EQ(view().in_flight, 0U) << "every permit came back";
  }

  core::Vendor config;
  std::vector<core::Descriptor> keys;
  std::string refused;
  std::unique_ptr<store::VendorStore> shared = store::make_memory_vendor_store(clock);
  std::unique_ptr<store::VendorStore> local = store::make_memory_vendor_store(clock);
  vendor::Vendors vendors{
      {.vendors = [this] { return std::vector{std::make_shared<const core::Vendor>(config)}; },
       .store = *shared,
       .local = *local,
       .instances = [] { return 1; },
       .clock = clock,
       .observer = *this}};
  PlayedVendor vendor_api{clock};
  VendorSink vendor_sink{{.vendor = "crm",
                          .vendors = *this,
                          .there = executor,
                          .home = executor,
                          .inner = vendor_api,
                          .key_names = [this] { return config.key.names(); }}};

 private:
  void on_acquire(const std::string&, std::string_view) override {}
  void on_observe(const std::string&, const vendor::Observed&) override {}
};

TEST_F(VendorSinkTest, S12_ARefusalMovesTheBookedSlotsInsideItsFreezeAndNoOthers) {
  refuse_one_of_five_hundred();
  EXPECT_EQ(view().frozen_until, kT0 + 150s) << "for every process";
  run_until(10min);
  EXPECT_EQ(watcher.rebooks, 150 + 1) << "those inside the freeze, and the refused one";
  // The 400 as in booking.md, section 7; the refused one behind them, as whoever comes then.
  EXPECT_EQ(vendor_api.by(60s), (std::map<WallTime, int>{{kT0, 100},
                                                         {kT0 + 2min, 50},
                                                         {kT0 + 3min, 100},
                                                         {kT0 + 4min, 100},
                                                         {kT0 + 5min, 100},
                                                         {kT0 + 6min, 51}}));
  EXPECT_EQ(vendor_api.seen.at(100).at, kT0 + 150s) << "the first after the freeze";
  EXPECT_EQ(vendor_api.seen.at(499).at, kT0 + 6min + 29'400ms) << "the last of the 400";
  EXPECT_EQ(vendor_api.seen.back().id, refused);
  EXPECT_EQ(vendor_api.seen.back().at, kT0 + 6min + 30s);
  expect_all_delivered(500, 1);
}

TEST_F(VendorSinkTest, S12_WithALimitOfTheVendorsOwnStartsFollowItsBucketAfterTheFreeze) {
  set_vendor({bucket(1000, 60s)});
  refuse_one_of_five_hundred();
  run_until(15min);
  const auto minutes = vendor_api.by(60s);
  EXPECT_FALSE(minutes.contains(kT0 + 60s));
  for (const auto& [minute, calls] : minutes) EXPECT_LE(calls, 100) << (minute - kT0).count();
  for (std::size_t i = 100; i < vendor_api.seen.size(); ++i)
    EXPECT_GE(vendor_api.seen[i].at, kT0 + 150s) << vendor_api.seen[i].id;
  EXPECT_LE(vendor_api.seen.back().at, kT0 + 7min);
  expect_all_delivered(500, 1);
}

TEST_F(VendorSinkTest, S9b_SlotsThatAFreezePushesOverTheHorizonAreDeadLettersWithTheirReason) {
  max_delay = 10min;
  vendor_api.retry_after = "840";
  set_even(2, 60s);
  vendor_api.play = [](const Delivered&) { return 429; };
  start();
  for (int i = 0; i < 6; ++i) publish("e" + std::to_string(i));
  run_until(20min);
  EXPECT_EQ(vendor_api.seen.size(), 2U) << "nobody asks a vendor that has said 840 s";
  ASSERT_EQ(dead().size(), 6U);
  std::map<std::string, int> reasons;
  for (const auto& letter : dead()) ++reasons[letter.reason];
  EXPECT_EQ(reasons, (std::map<std::string, int>{{"frozen_past_horizon", 6}}));
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(VendorSinkTest, ACeilingOverManyKeysHoldsAndCostsNoAttempt) {
  set_limit(10, 1s);
  set_vendor({window(5, 1s)});
  start();
  for (int i = 0; i < 100; ++i) publish("e" + std::to_string(i), "k" + std::to_string(i % 20));
  run_until(2min);
  for (const auto& [second, calls] : vendor_api.by(1s)) EXPECT_LE(calls, 5) << (second - kT0).count();
  EXPECT_LE(vendor_api.seen.back().at, kT0 + 40s) << "20 s at best";
  expect_all_delivered(100, 0);
}

TEST_F(VendorSinkTest, G12_TenRefusalsAreNoAttempts) {
  stream->max_attempts = 3;
  vendor_api.retry_after = "5";
  vendor_api.play = [this](const Delivered&) { return vendor_api.seen.size() <= 10 ? 429 : 200; };
  start();
  publish("e");
  run_until(2h);
  expect_all_delivered(1, 10);
}

TEST_F(VendorSinkTest, G12_AKilledWorkersPermitComesBackByItsLeaseAndItsEventGoes) {
  vendor_api.play = [](const Delivered&) { return 0; };
  start();
  publish("e");
  run_until(1s);
  for (int kills = 0; kills < 2; ++kills) {
    kill();
    vendor_api.held.clear();
    start();
    executor.run_for(10s);
  }
  EXPECT_EQ(view().in_flight, vendor_api.seen.size());
  vendor_api.play = [](const Delivered&) { return 200; };
  kill();
  vendor_api.held.clear();
  start();
  executor.run_for(2min);
  EXPECT_EQ(attempt_of(vendor_api.seen.back()), "1");
  EXPECT_EQ(waiting(), 0U);
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(view().in_flight, 0U);
}

TEST_F(VendorSinkTest, TheVendorsKeyMayNameAttributesAndMembersOfThePayload) {
  set_vendor({}, "{portal}:{/account/id}:{stream}:{key}");
  start();
  publish("a", "k", R"({"id":"a","key":"k","portal":42,"account":{"id":"x1"}})");
  publish("b", "k", R"({"id":"b","key":"k","portal":42})");
  run_until(1s);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].at("portal"), "42");
  EXPECT_EQ(keys[0].at("/account/id"), "x1");
  EXPECT_EQ(keys[0].at("stream"), "s");
  ASSERT_EQ(vendor_api.seen.size(), 1U);
  ASSERT_EQ(dead().size(), 1U) << "a key that can never be made is refused for good";
  EXPECT_NE(dead()[0].detail.find("/account/id"), std::string::npos) << dead()[0].detail;
}

TEST_F(VendorSinkTest, AVendorsOwnFormOfRefusalIsOneThoughTheStatusIsAnother) {
  config.profile = "google";
  vendor_api.retry_after = "5";
  bool first = true;
  vendor_api.play = [&](const Delivered&) { return std::exchange(first, false) ? 0 : 200; };
  start();
  publish("e");
  run_until(1s);
  broker::SinkAnswer forbidden;
  forbidden.verdict = broker::SinkVerdict::refused;
  forbidden.detail = "HTTP 403";
  forbidden.status = 403;
  forbidden.headers = {{"Retry-After", "5"}};
  vendor_api.held.at(0)(forbidden);
  run_until(1min);
  expect_all_delivered(1, 1);
}

}  // namespace
}  // namespace dripgate::app
