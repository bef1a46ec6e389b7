// What the CounterStore conformance tests share: calls that wait for their answer, and shorthands.
#pragma once

#include "conformance/backends.h"
#include "conformance/limits.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

class CounterConformance : public ::testing::TestWithParam<Backend> {
 protected:
  static store::Charge charge(const std::string& key, core::Limit limit, core::Units cost = 1) {
    return {.key = key, .limit = std::move(limit), .cost = cost};
  }
  Result<core::Decision> try_consume(const store::Charges& charges) {
    return ask<core::Decision>(*under,
                               [&](auto done) { under->counters().consume(charges, std::move(done)); });
  }
  core::Decision consume(const store::Charges& charges) { return value(try_consume(charges)); }
  core::Decision consume(const core::Limit& limit, core::Units cost = 1) {
    return consume({charge("k", limit, cost)});
  }
  core::Decision peek(const store::Charges& charges) {
    return value(
        ask<core::Decision>(*under, [&](auto done) { under->counters().peek(charges, std::move(done)); }));
  }
  core::Decision peek(const core::Limit& limit, core::Units cost = 1) {
    return peek({charge("k", limit, cost)});
  }
  bool refund(const store::Charges& charges, WallTime consumed_at, const std::string& request_id) {
    const store::Refund asked{.charges = charges, .consumed_at = consumed_at, .request_id = request_id};
    const auto answer =
        ask<bool>(*under, [&](auto done) { under->counters().refund(asked, std::move(done)); });
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer.value_or(false);
  }
  Result<void> reset(const std::string& key) {
    return ask<void>(*under, [&](auto done) { under->counters().reset(key, std::move(done)); });
  }
  store::CounterView inspect(const store::Charge& asked) {
    return value(ask<store::CounterView>(
        *under, [&](auto done) { under->counters().inspect(asked, std::move(done)); }));
  }
  /// How many of `calls` of cost 1 are allowed at once.
  int allowed(const core::Limit& limit, int calls) {
    int count = 0;
    for (int i = 0; i < calls; ++i) count += consume(limit).verdict == core::Verdict::allow ? 1 : 0;
    return count;
  }

  VirtualClock clock;
  std::unique_ptr<StoreUnderTest> under = GetParam().make(clock);

 private:
  template <class Answer>
  static Answer value(Result<Answer> answer) {
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer.value_or(Answer{});
  }
};

}  // namespace dripgate::testing
