// Latency of in-limit events at 1,000 a second, from append to committed decision and publish, beside the
// floor: a 512-byte append with fdatasync on the same disk. Reported, not judged: a shared machine's tail is
// not a property of the drip.
#include <fcntl.h>
#include <unistd.h>

#include "compare.h"
#include "embedded_line.h"

namespace {

using namespace dripgate;
constexpr std::uint64_t kEvents = 10'000;
constexpr Duration kApart{1000};

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<double> fsync_floor(const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  const std::string block(512, 'x');
  std::vector<double> took;
  for (std::uint64_t i = 0; i < kEvents / 4; ++i) {
    const MonoTime start = runtime::mono_now();
    if (write(file, block.data(), block.size()) != 512 || fdatasync(file) != 0) std::abort();
    took.push_back(static_cast<double>((runtime::mono_now() - start).count()));
  }
  close(file);
  std::filesystem::remove(path);
  return took;
}

std::vector<double> drip_latency(const std::string& path) {
  bench::EmbeddedLine line(path, "[ { rps: 10000000 } ]");
  std::vector<double> took;
  std::deque<MonoTime>
      waiting;  // due times of events that are published and not yet decided: an open loop hides no queueing
  const MonoTime start = runtime::mono_now();
  std::uint64_t next = 0;
  while (took.size() < kEvents) {
    for (; next < kEvents && runtime::mono_now() >= start + kApart * static_cast<std::int64_t>(next);
         ++next) {
      line.publish(next, bench::event_body(next, 100));
      waiting.push_back(start + kApart * static_cast<std::int64_t>(next));
    }
    if (waiting.empty()) continue;
    const std::uint64_t before = line.decided().durable();
    line.run_turn();
    line.end_turn();
    for (std::uint64_t i = before; i < line.decided().durable(); ++i) {
      took.push_back(static_cast<double>((runtime::mono_now() - waiting.front()).count()));
      waiting.pop_front();
    }
  }
  return took;
}

void report(const char* subject, const std::vector<double>& took) {
  std::printf(R"({"bench":"in_limit_latency","subject":"%s","p50_us":%.0f,"p99_us":%.0f})"
              "\n",
              subject, percentile(took, 0.5), percentile(took, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Comparison flags("in_limit_latency", argc, argv);
  report("fdatasync of 512 B", fsync_floor(bench::bench_file("floor")));
  report("drip at 1,000 events/s", drip_latency(bench::bench_file("latency")));
  return flags.verdict();
}
