// The backends that every store conformance test runs over. A new backend is one more line in all_backends().
// A StoreUnderTest may answer asynchronously: tests ask through Ask (below), which drives it until `done`
// ran.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/time.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::testing {

/// One backend with its disturbances. Tests never keep the references over a call of settle().
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual store::BookingStore& bookings() = 0;
  virtual store::CounterStore& counters() = 0;
  virtual store::VendorStore& vendors() = 0;
  /// After every call: makes it durable, and may change the connection or kill and reopen the store.
  virtual void settle() {}
  /// Lets an asynchronous backend work; false: nothing is left to do.
  virtual bool run_one() { return false; }
  /// The shared state is lost (flush, failover to an empty replica).
  virtual void empty() = 0;
  /// One command to the server behind it (support/redis/redis_server.h), at the clock's time; nullopt: none.
  virtual std::optional<std::string> ask_server(const std::vector<std::string>& /*words*/) { return {}; }
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>(Clock&)> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

[[nodiscard]] std::vector<Backend> all_backends();
/// A few that are cheap per call, for long random histories.
[[nodiscard]] std::vector<Backend> quick_backends();
[[nodiscard]] inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

/// Asks one question and waits for its one answer.
template <class Answer, class Call>
Result<Answer> ask(StoreUnderTest& under, Call call) {
  auto answer = std::make_shared<std::optional<Result<Answer>>>();
  call([answer](Result<Answer> got) {
    EXPECT_FALSE(answer->has_value()) << "done ran twice";
    *answer = std::move(got);
  });
  while (!answer->has_value() && under.run_one()) {
  }
  if (!answer->has_value()) {
    ADD_FAILURE() << "done never ran";
    return fail(ErrorCode::timed_out, "done never ran");
  }
  Result<Answer> result = **answer;
  under.settle();
  return result;
}

}  // namespace dripgate::testing
