// What counter scripts answer, read by who trusts no reply.
#include <gtest/gtest.h>

#include "store/redis/counter_reply.h"

namespace dripgate::store {
namespace {

redis::Reply answer(const std::string& head) {
  return {std::vector<redis::Reply>{{head}, {std::string("text")}}};
}

TEST(CounterReply, ATimeThatNoClockShowsIsCorruptAndOverflowsNothing) {
  EXPECT_EQ(read_counter_reply(answer("0 1 1800000000 123456"))->time, from_us(1'800'000'000'123'456));
  for (const char* time : {"18888888888880000 0", "9223372036854775807 9223372036854775807", "-1 0", "1 -1",
                           "1 1000000", "1 x", " 1"}) {
    EXPECT_EQ(read_counter_reply(answer(std::string("0 1 ") + time)).error().code, ErrorCode::corrupt)
        << time;
    EXPECT_FALSE(read_bucket_reply({std::string(time) + " 1b"})) << time;
    EXPECT_FALSE(read_buckets_reply({std::string(time)})) << time;
  }
}

}  // namespace
}  // namespace dripgate::store
