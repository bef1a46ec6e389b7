// Views of a key, how long it is remembered, and its stored bytes.
#include <gtest/gtest.h>

#include "support/virtual_time.h"
#include "unit/core/booking_support.h"

namespace dripgate::testing {
namespace {

using core::EventState;
using core::PlanRule;
using core::Spread;
using namespace std::chrono_literals;

TEST(BookingView, InspectShowsTheUnitsOfEachLimitInItsOwnWindow) {
  Drip drip({window_limit(9, 60s), log_limit(9, 30s), bucket_limit(60, 60s, 9)}, Spread::start, PlanRule{});
  (void)drip.reserve("a", 3, kT0);
  (void)drip.reserve("b", 2, kT0 + 20s);
  const core::KeyView view = core::inspect(drip.state, drip.policy, kT0 + 21500ms);
  EXPECT_EQ(view.released, (std::vector<core::Units>{5, 5, 1}));
  EXPECT_EQ(core::inspect(drip.state, drip.policy, kT0 + 31s).released, (std::vector<core::Units>{5, 2, 0}));
}

TEST(BookingView, StateAndRecordsOutliveWhatTheyHold) {
  Drip drip({window_limit(1, 60s), log_limit(1, 2h), bucket_limit(1, 1h, 1)}, Spread::start, PlanRule{});
  drip.policy.max_delay = 24h;
  (void)drip.reserve("a", 1, kT0);
  const Duration extra = 24h + 24h;
  EXPECT_GE(core::state_expiry(drip.state, drip.policy, kT0), kT0 + 2h + extra);
  (void)drip.reserve("b", 1, kT0);
  (void)drip.reserve("c", 1, kT0);
  EXPECT_GE(core::state_expiry(drip.state, drip.policy, kT0), drip.records["c"]->slot + extra);
  core::freeze(drip.state, kT0 + 48h);
  EXPECT_EQ(core::state_expiry(drip.state, drip.policy, kT0), kT0 + 48h + extra);
  drip.policy.id_retention = 1h;
  EXPECT_EQ(core::record_expiry(*drip.records["a"], drip.policy, kT0 + 5s), kT0 + 5s + 1h);
  EXPECT_EQ(core::record_expiry(*drip.records["c"], drip.policy, kT0), drip.records["c"]->slot + 1h);
}

// --- bytes

core::KeyState busy_state() {
  Drip drip({window_limit(5, 1s), window_limit(7, 60s), log_limit(6, 10s), bucket_limit(7, 90s, 9)},
            Spread::even, PlanRule{});
  for (int i = 0; i < 40; ++i) (void)drip.reserve(std::to_string(i), 1, kT0 + i * 17ms);
  for (int i = 0; i < 40; ++i) (void)drip.gate(std::to_string(i), 0, kT0 + 3min + i * 13ms);
  core::freeze(drip.state, kT0 + 1h);
  return drip.state;
}

TEST(BookingCodec, EveryStateReadsBackAsItWas) {
  const core::KeyState busy = busy_state();
  ASSERT_NE(busy.repair_kind, core::RepairKind::none);
  for (const core::KeyState& state : {core::KeyState{}, busy}) {
    const auto read = core::decode_state(core::encode(state));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, state);
  }
}

TEST(BookingCodec, EveryRecordReadsBackAsItWas) {
  core::EventRecord record;
  EXPECT_EQ(core::decode_record(core::encode(record)), record);
  record = {.state = EventState::dead_letter,
            .generation = 4'000'000'000,
            .slot = kNeverEnds,
            .cost = 7,
            .first_received = kLongAgo,
            .body_digest = ~std::uint64_t{0},
            .epoch = 4'294'967'295,
            .leak = 1,
            .via_repair = true,
            .repairs = 2,
            .lease_waits = 255};
  EXPECT_EQ(core::decode_record(core::encode(record)), record);
}

TEST(BookingCodec, AStateOfThreeWindowsIsSmall) {
  Drip drip({window_limit(5, 1s), window_limit(100, 60s), window_limit(1000, 24h)}, Spread::even, PlanRule{});
  std::size_t largest = 0;
  for (int i = 0; i < 3000; ++i) {
    (void)drip.reserve(std::to_string(i), 1, kT0);
    largest = std::max(largest, core::encode(drip.state).size());
  }
  EXPECT_LE(largest, 300u) << "it does not grow with the backlog";
}

TEST(BookingCodec, DamagedBytesAreRefused) {
  const std::string state = core::encode(busy_state());
  const std::string record = core::encode(core::EventRecord{});
  for (std::size_t i = 1; i < state.size(); ++i) {
    std::string flipped = state;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const auto read = core::decode_state(flipped);
    ASSERT_FALSE(read.has_value()) << i;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    ASSERT_FALSE(core::decode_state(std::string_view(state).substr(0, i)).has_value()) << i;
  }
  EXPECT_EQ(core::decode_state(state + "x").error().code, ErrorCode::corrupt);
  EXPECT_EQ(core::decode_state("").error().code, ErrorCode::corrupt);
  EXPECT_EQ(core::decode_state(record).error().code, ErrorCode::corrupt) << "a record is not a state";
  EXPECT_EQ(core::decode_record(state).error().code, ErrorCode::corrupt);
  EXPECT_EQ(core::decode_record(record.substr(0, record.size() - 1)).error().code, ErrorCode::corrupt);
}

TEST(BookingCodec, BytesOfALaterFormatAreRefusedAsSuch) {
  std::string state = core::encode(busy_state());
  std::string record = core::encode(core::EventRecord{});
  state[0] = record[0] = 2;
  EXPECT_EQ(core::decode_state(state).error().code, ErrorCode::newer_version);
  EXPECT_EQ(core::decode_record(record).error().code, ErrorCode::newer_version);
  state[0] = static_cast<char>(0xff);
  EXPECT_EQ(core::decode_state(state).error().code, ErrorCode::newer_version);
}

}  // namespace
}  // namespace dripgate::testing
