// Load: checks of random keys over many connections, at a rate or as fast as they are answered.
#pragma once

#include <memory>
#include <random>

#include "capacity/bench.h"
#include "capacity/connections.h"
#include "capacity/histogram.h"
#include "capacity/keys.h"
#include "net/io_loop.h"

namespace dripgate::capacity {

/// Calls at a rate are sent in groups this far apart; latency counts from when their group was due.
inline constexpr Duration kSendEvery{100};
/// Calls open per connection where they follow each other.
inline constexpr std::size_t kOpenEach = 8;

/// The answers of one load, by the home of their keys. Shared with callbacks that may come late.
struct Answers {
  struct Home {
    Histogram took{};
    std::uint64_t failed = 0;
    std::optional<MonoTime> first_answered{};
  };
  std::vector<Home> homes{};
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::uint64_t late = 0;
  std::string failure{};
};

class LoadMaker {
 public:
  /// Everything outlives it. `connections`: the first so many are used.
  LoadMaker(net::IoLoop& loop, Connections& sites, const Keys& keys, const BenchOptions& options)
      : loop_(loop), sites_(sites), keys_(keys), options_(options) {}

  /// `percent` of `peak` calls per second for the time of a step; 0: as fast as they are answered.
  [[nodiscard]] Step run(int percent, std::int64_t peak);
  /// Every key once. False: not all were answered within kPhaseMax.
  [[nodiscard]] bool touch_all();
  /// Removes every key; how many are left.
  [[nodiscard]] std::size_t remove_all();
  /// Of the last run, by home: when the first call was answered.
  [[nodiscard]] const std::vector<std::optional<MonoTime>>& first_answers() const { return first_answers_; }

 private:
  using AnswersPtr = std::shared_ptr<Answers>;

  void send(const AnswersPtr& answers, std::size_t key, MonoTime due, Task then);
  void offer(const AnswersPtr& answers, double per_second);
  void follow(const AnswersPtr& answers);
  [[nodiscard]] Step step_of(const Answers& answers, int percent, double offered, Duration spent) const;
  /// Runs `begin` for every key, kOpenEach per connection at a time, until all have called back.
  bool for_all(std::function<void(std::size_t connection, std::size_t key, Task done)> begin);

  net::IoLoop& loop_;
  Connections& sites_;
  const Keys& keys_;
  const BenchOptions& options_;
  std::mt19937_64 random_{42};
  std::size_t next_site_ = 0;
  std::vector<std::optional<MonoTime>> first_answers_;
};

}  // namespace dripgate::capacity
