// Workers that call somebody else's API: each asks Dripgate first, tells it what was answered, and puts the
// job back with the wait it is told. No worker sleeps with a job in its hands; one refusal stops them all.
//
//   vendor_worker JOBS LIMIT     the API takes LIMIT calls per second; we have been told twice as many
//
// Prints a line: jobs done, calls that the API refused, most calls that it took in a second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <vector>

#include <dripgate/vendor.h>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// The API: a real window inside, its answer as a client library gives it.
class Api {
 public:
  explicit Api(int limit) : limit_(limit) {}

  dripgate::VendorReply<std::string> get(int job) {
    const std::scoped_lock lock(mutex_);
    const auto second = std::chrono::floor<std::chrono::seconds>(Clock::now().time_since_epoch());
    if (taken_[second.count()] == limit_) {
      ++refused_;
      return {.answer = {.status = 429, .headers = {{"Retry-After", "1"}}}};
    }
    ++taken_[second.count()];
    return {.answer = {.status = 200}, .result = "page of job " + std::to_string(job)};
  }
  [[nodiscard]] int refused() const { return refused_; }
  [[nodiscard]] int fullest_second() const {
    int most = 0;
    for (const auto& [second, calls] : taken_) most = std::max(most, calls);
    return most;
  }

 private:
  const int limit_;
  std::mutex mutex_;
  std::map<std::int64_t, int> taken_;
  int refused_ = 0;
};

/// Jobs with the time before which nobody takes them: what a real queue calls a delay.
class Queue {
 public:
  void put(int job, Clock::time_point from) {
    const std::scoped_lock lock(mutex_);
    jobs_.emplace(from, job);
  }
  std::optional<int> take() {
    const std::scoped_lock lock(mutex_);
    if (jobs_.empty() || jobs_.top().first > Clock::now()) return std::nullopt;
    const int job = jobs_.top().second;
    jobs_.pop();
    return job;
  }

 private:
  std::mutex mutex_;
  std::priority_queue<std::pair<Clock::time_point, int>, std::vector<std::pair<Clock::time_point, int>>,
                      std::greater<>>
      jobs_;
};

void work(dripgate::Vendor vendor, Api& api, Queue& queue, std::atomic<int>& left) {
  while (left > 0) {
    const std::optional<int> job = queue.take();
    if (!job) {
      std::this_thread::sleep_for(1ms);  // nothing is due
      continue;
    }
    const auto done =
        dripgate::execute_with_limit(vendor, {{"account", "42"}}, [&] { return api.get(*job); });
    if (!done) {
      std::cerr << done.error().detail << '\n';
      queue.put(*job, Clock::now() + 1s);
    } else if (const auto* later = std::get_if<dripgate::RateLimitExceeded>(&*done)) {
      queue.put(*job, Clock::now() + later->retry_after);
    } else {
      --left;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: vendor_worker JOBS LIMIT\n", 2;
  const int jobs = std::atoi(argv[1]);
  const int limit = std::atoi(argv[2]);
  if (jobs < 1 || limit < 1) return std::cerr << "JOBS and LIMIT: accepted: 1 or more\n", 2;
  auto vendor = dripgate::Vendor::open({.vendor = "crm",
                                        .limits = {{.limit = dripgate::Limit::fixed(2 * limit, 1s)}},
                                        .key = "{account}",
                                        .on_store_failure = dripgate::FailureMode::local});
  if (!vendor) return std::cerr << vendor.error().detail << '\n', 1;

  Api api(limit);
  Queue queue;
  std::atomic<int> left = jobs;
  for (int job = 0; job < jobs; ++job) queue.put(job, Clock::now());
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back([&] { work(*vendor, api, queue, left); });
  for (std::thread& worker : workers) worker.join();
  std::cout << "done " << jobs << " refused " << api.refused() << " most " << api.fullest_second() << '\n';
}
