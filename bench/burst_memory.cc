// Memory of the embedded drip in one burst: 2,000,000 events of a few keys under a limit that books nearly
// all of them. The resident set must not grow by 20 MB or more from event 100,000 on.
#include <cinttypes>

#include "compare.h"
#include "embedded_line.h"

namespace {

constexpr std::uint64_t kFirst = 100'000;
constexpr std::uint64_t kEvents = 2'000'000;
constexpr std::uint64_t kWindow = 256;
constexpr double kGrowthMax = 20.0;

double resident_megabytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * 4096.0 / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dripgate::bench;
  Comparison table("burst_memory", argc, argv);
  const std::string path = bench_file("burst");
  EmbeddedLine line(path, "[ { rps: 100 }, { rpm: 5000 } ]");
  double at_first = 0;
  std::uint64_t next = 0;
  while (line.decided().durable() < kEvents) {
    for (; next < kEvents && next - line.decided().durable() < kWindow; ++next)
      line.publish(next, event_body(next, 10));
    line.run_turn();
    line.end_turn();
    if (at_first == 0 && line.decided().durable() >= kFirst) at_first = resident_megabytes();
  }
  const double at_end = resident_megabytes();
  std::printf(R"({"bench":"burst_memory","events":%)" PRIu64 R"(,"mb_at_100000":%.1f,"mb_at_end":%.1f})"
              "\n",
              kEvents, at_first, at_end);
  table.judge("growth of the resident set", at_end - at_first, kGrowthMax, "MB");
  for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path + ending);
  return table.verdict();
}
