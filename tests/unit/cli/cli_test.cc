// The parts of the command line that need no process: batches, answers, tallies, values, texts.
#include <sstream>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rfc3339.h"
#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/demo_print.h"
#include "cli/demo_tally.h"
#include "cli/line_batches.h"
#include "cli/option_values.h"
#include "cli/publish_run.h"
#include "cli/receiver.h"
#include "net/io_loop.h"
#include "support/virtual_time.h"

namespace dripgate::cli {
namespace {

TEST(LineBatches, CutsByLinesAndLeavesEmptyOnesOut) {
  std::istringstream in("a\n\nb\r\n  \nc\nd");
  LineBatches batches(in, 3);
  const auto first = batches.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number, 1u);
  EXPECT_EQ(first->lines, 3u);
  EXPECT_EQ(first->body, "a\nb\nc\n");
  const auto second = batches.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 2u);
  EXPECT_EQ(second->body, "d\n");
  EXPECT_FALSE(batches.next());
  EXPECT_FALSE(batches.next());
}

TEST(LineBatches, CutsByBytesAndStillTakesALineThatIsLongerAlone) {
  std::istringstream in("aaaa\nbbbb\ncccccccccccccccccc\nd\n");
  LineBatches batches(in, 100, 10);
  EXPECT_EQ(batches.next()->body, "aaaa\nbbbb\n");
  EXPECT_EQ(batches.next()->body, "cccccccccccccccccc\n");
  EXPECT_EQ(batches.next()->body, "d\n");
  EXPECT_FALSE(batches.next());
}

TEST(PublishAnswer, CountsEveryVerdict) {
  Tally tally;
  ASSERT_TRUE(add_answer(R"({"id":"a","verdict":"now","slot":"x","key":"k"}
{"id":"b","verdict":"scheduled"}
{"id":"c","verdict":"dead_letter","reason":"malformed_payload"}
{"id":"d","verdict":"accepted"}
{"id":"e","verdict":"accepted","duplicate":true}
{"line":6,"status":409,"error":"used","id":"f"}
{"line":7,"status":413,"error":"too long"}
)",
                         7, tally));
  EXPECT_EQ(tally.now, 1u);
  EXPECT_EQ(tally.scheduled, 1u);
  EXPECT_EQ(tally.dead_letter, 1u);
  EXPECT_EQ(tally.accepted, 1u);
  EXPECT_EQ(tally.duplicate, 1u);
  EXPECT_EQ(tally.conflict, 1u);
  EXPECT_EQ(tally.failed, 1u);
  EXPECT_EQ(tally.events(), 7u);
  EXPECT_EQ(tally.first_fault, "used");
}

TEST(PublishAnswer, AddsNothingOfAnAnswerThatDoesNotFit) {
  const std::string one = R"({"verdict":"now"})";
  for (const auto& [body, events] :
       std::vector<std::pair<std::string, std::size_t>>{{one, 2},
                                                        {one + "\n" + one, 1},
                                                        {"", 1},
                                                        {"<html>", 1},
                                                        {R"({"verdict":"maybe"})", 1},
                                                        {"[1]", 1}}) {
    Tally tally;
    EXPECT_FALSE(add_answer(body, events, tally)) << body;
    EXPECT_EQ(tally.events(), 0u) << body;
  }
}

TEST(OptionValues, ReadSpansWithTheirUnit) {
  EXPECT_EQ(parse_span("200ms").value(), Duration{200'000});
  EXPECT_EQ(parse_span("1.5h").value(), std::chrono::minutes{90});
  EXPECT_EQ(parse_span("2d").value(), std::chrono::hours{48});
  EXPECT_EQ(parse_span("0s").value(), Duration{0});
  for (const char* wrong : {"", "5", "s", "-1s", "1 s", "1w", "1e400s", "nan s", "inf"}) {
    EXPECT_FALSE(parse_span(wrong)) << wrong;
  }
}

Received delivery(const std::string& id, const std::string& key, const std::string& released,
                  const std::string& slot) {
  return {.time = {},
          .id = id,
          .stream = "payouts",
          .key = key,
          .attempt = "1",
          .slot = slot,
          .released = released};
}

TEST(DemoTally, CountsByMinuteOfReleaseAfterRemovingEqualIds) {
  DemoTally tally(2);
  tally.delivered(delivery("a", "k", "2026-08-03T14:02:59.999Z", "2026-08-03T14:02:00Z"));
  tally.delivered(delivery("b", "k", "2026-08-03T14:02:00.000Z", "2026-08-03T14:02:00Z"));
  tally.delivered(delivery("b", "k", "2026-08-03T14:03:00.000Z", "2026-08-03T14:03:00Z"));
  tally.delivered(delivery("c", "k", "2026-08-03T14:05:00.000Z", "2026-08-03T14:04:00Z"));
  tally.dead_letter("d", "malformed_payload");
  EXPECT_EQ(tally.minutes_of("k"), (std::vector<std::uint64_t>{2, 0, 0, 1}));
  EXPECT_EQ(tally.repeated(), 1u);
  EXPECT_EQ(tally.late(), 1u);
  EXPECT_EQ(tally.exceeded(), 0u);
  EXPECT_EQ(tally.lost(4), 0u);
  EXPECT_EQ(tally.lost(6), 2u);
  EXPECT_TRUE(tally.minutes_of("other").empty());
}

TEST(DemoTally, SeesAWindowAboveTheLimitAndADeliveryThatCannotBeRead) {
  DemoTally tally(2);
  for (const char* id : {"a", "b", "c"}) {
    tally.delivered(delivery(id, "k", "2026-08-03T14:02:10.000Z", "2026-08-03T14:02:00Z"));
  }
  tally.delivered(delivery("d", "k", "yesterday", ""));
  EXPECT_EQ(tally.exceeded(), 1u);
  EXPECT_EQ(tally.unreadable(), 1u);
}

TEST(DemoPrint, ShowsEveryKeyAndMinute) {
  DemoTally tally(2);
  tally.delivered(delivery("a", "merchant_1", "2026-08-03T14:02:10.000Z", "2026-08-03T14:02:00Z"));
  tally.delivered(delivery("b", "merchant_22", "2026-08-03T14:04:10.000Z", "2026-08-03T14:04:00Z"));
  tally.dead_letter("c", "malformed_payload");
  EXPECT_EQ(demo_table(tally),
            "  released     14:02  14:04\n"
            "  merchant_1       1      .\n"
            "  merchant_22      .      1\n");
  const std::string sums = demo_sums(tally, 4);
  EXPECT_NE(sums.find("dead-lettered     1   1 malformed_payload"), std::string::npos) << sums;
  EXPECT_NE(sums.find("lost              1"), std::string::npos) << sums;
}

TEST(Console, DrawsBarsAndHidesControlCharacters) {
  EXPECT_EQ(bar(0, 10, 4), "[>   ]");
  EXPECT_EQ(bar(5, 10, 4), "[==> ]");
  EXPECT_EQ(bar(20, 10, 4), "[====]");
  EXPECT_EQ(bar(0, 0, 4), "[>   ]");
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a?[2Jb?");
}

class ReceiverTest : public ::testing::Test {
 protected:
  http::Response answer(Receiver& receiver) {
    http::Response given;
    given.status = 0;
    receiver.handle(
        {.method = "POST", .target = "/", .headers = {{"Dripgate-Id", "a"}}, .body = "{}", .peer = {}},
        [&](http::Response response) { given = std::move(response); });
    loop.run_for(std::chrono::milliseconds{1});
    return given;
  }
  testing::VirtualClock clock;
  net::IoLoop loop;
  std::vector<Received> seen;
};

TEST_F(ReceiverTest, LimitsPerWindowWithTheTimeThatIsLeft) {
  Receiver receiver({.limit = 2, .window = std::chrono::seconds{60}}, clock, loop,
                    [&](const Received& received) { seen.push_back(received); });
  clock.advance(std::chrono::milliseconds{30'500});
  EXPECT_EQ(answer(receiver).status, 200);
  EXPECT_EQ(answer(receiver).status, 200);
  const http::Response limited = answer(receiver);
  EXPECT_EQ(limited.status, 429);
  ASSERT_NE(http::find(limited.headers, "retry-after"), nullptr);
  EXPECT_EQ(*http::find(limited.headers, "retry-after"), "30");
  clock.advance(std::chrono::milliseconds{29'500});
  EXPECT_EQ(answer(receiver).status, 200);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[2].status, 429);
  EXPECT_EQ(seen[2].id, "a");
}

TEST_F(ReceiverTest, FailsThePartThatItIsTold) {
  Receiver receiver({.fail_rate = 0.25, .fail_status = 502}, clock, loop,
                    [&](const Received& received) { seen.push_back(received); });
  int failed = 0;
  for (int i = 0; i < 400; ++i) failed += answer(receiver).status == 502 ? 1 : 0;
  EXPECT_GT(failed, 60);
  EXPECT_LT(failed, 140);
}

TEST_F(ReceiverTest, WritesOneLineOfJsonPerDelivery) {
  Received received = delivery("a\"\n\xff", "k", "2026-08-03T14:02:10.000Z", "2026-08-03T14:02:00Z");
  received.time = parse_rfc3339("2026-08-03T14:02:11.5Z").value();
  received.bytes = 7;
  EXPECT_EQ(to_json_line(received),
            R"({"time":"2026-08-03T14:02:11.500Z","id":"a\"\n)"
            "\xEF\xBF\xBD"
            R"(","stream":"payouts","key":"k","attempt":"1","slot":"2026-08-03T14:02:00Z",)"
            R"("released":"2026-08-03T14:02:10.000Z","status":200,"bytes":7})");
}

TEST(ApiClient, NamesAServerThatIsNotThereOnce) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);  // bound and not listening: nobody else gets the port
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string at = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  ServerAddress server;
  server.url = "http://" + at;
  const auto answer = ApiClient::make(server).value()->ask("GET", "/healthz");
  ::close(taken);
  ASSERT_FALSE(answer);
  const std::string& said = answer.error().detail;
  EXPECT_NE(said.find(at), std::string::npos) << said;
  EXPECT_EQ(said.find(at), said.rfind(at)) << said;
}

}  // namespace
}  // namespace dripgate::cli
