// Random lives of a connection: whatever is cut, late, lost and refused, every call is answered once, and
// never with the reply of another.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "redis/multiplexer.h"

namespace dripgate::redis {
namespace {

constexpr int kLives = 300;
constexpr int kSteps = 400;
constexpr std::size_t kInFlight = 16;

/// A Redis that answers each command, "ID;", with its id, when it gets to it.
class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int i = 0; i < kSteps; ++i) step();
    calls_.disconnected("the end");
    calls_.fail_queued(unsent(ErrorCode::cancelled, "n:1", "the end"));
    for (int id = 0; id < sent_; ++id) EXPECT_EQ(answers_[id], 1) << "call " << id;
    EXPECT_TRUE(calls_.idle());
  }
  [[nodiscard]] int replied() const { return replied_; }
  [[nodiscard]] int late() const { return late_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  int below(int bound) { return std::uniform_int_distribution{0, bound - 1}(random_); }

  void step() {
    now_ += Duration{below(3)};
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return send();
      case 4:
      case 5:
      case 6: {
        std::string out;
        calls_.take_output(out);
        at_server_ += out;
        return;
      }
      case 7:
      case 8:
        return serve();
      case 9:
      case 10:
        return deliver();
      default:
        if (below(5) == 0) return lose();
        (void)calls_.expire(now_);
    }
  }

  void send() {
    const int id = sent_++;
    Answered done = [this, id](const Outcome& outcome) {
      ++answers_[id];
      if (!outcome) {
        late_ += outcome.error().kind == FailureKind::unknown ? 1 : 0;
        return;
      }
      ++replied_;
      EXPECT_EQ(*outcome->text(), std::to_string(id));
      if (below(8) == 0) send();  // from inside of an answer
    };
    if (calls_.send(std::to_string(id) + ";", now_ + Duration{1 + below(20)}, done)) {
      ++refused_;
      ++answers_[id];
    }
  }
  void serve() {
    const std::size_t end = at_server_.find(';');
    if (end == std::string::npos) return;
    const std::string id = at_server_.substr(0, end);
    at_server_.erase(0, end + 1);
    on_the_way_ += "$" + std::to_string(id.size()) + "\r\n" + id + "\r\n";
  }
  void deliver() {
    const auto size = static_cast<std::size_t>(below(static_cast<int>(on_the_way_.size()) + 1));
    const std::string bytes = on_the_way_.substr(0, size);
    on_the_way_.erase(0, size);
    EXPECT_TRUE(calls_.received(bytes));
  }
  void lose() {
    at_server_.clear();
    on_the_way_.clear();
    calls_.disconnected("lost");
    if (below(2) == 0) calls_.fail_queued(unsent(ErrorCode::unavailable, "n:1", "refused"));
  }

  std::mt19937_64 random_;
  Multiplexer calls_{"n:1", {.in_flight_max = kInFlight}};
  MonoTime now_{std::chrono::seconds{1}};
  int sent_ = 0, replied_ = 0, late_ = 0, refused_ = 0;
  std::map<int, int> answers_;
  std::string at_server_, on_the_way_;
};

TEST(MultiplexerRandom, EveryCallIsAnsweredOnceAndNeverWithTheReplyOfAnother) {
  int replied = 0, late = 0, refused = 0;
  for (int seed = 0; seed < kLives && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(static_cast<std::uint64_t>(seed));
    life.run();
    replied += life.replied();
    late += life.late();
    refused += life.refused();
  }
  // It must have happened to mean anything.
  EXPECT_GT(replied, 1000);
  EXPECT_GT(late, 1000);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace dripgate::redis
