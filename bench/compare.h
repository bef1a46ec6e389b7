// Measuring against a control in the same run. A machine that others use changes speed by the minute: so the
// subject and its control take turns, every repeat is kept as a raw row, and the verdict is on the median of
// the ratios of neighbouring repeats. Used by every program in bench/.
//
//   bench::Comparison table("memory_store", argc, argv);
//   table.add("absl find", [&] { ...; return operations; });
//   table.add("consume", [&] { ...; return operations; });
//   table.run();
//   table.expect_ratio("consume", "absl find", 1.5);
//   table.expect_at_most("hot key", 60.0);
//   return table.verdict();
//
// Flags: --repeats N (default 5), --json FILE (raw rows are appended there as JSON lines; always printed
// too),
// --report-only (exit 0 whatever the verdict: for machines that are too noisy to judge).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <time.h>

namespace dripgate::bench {

/// Keeps the compiler from dropping a value that nothing reads.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Which clock counts: of the wall, or of this thread's CPU (for work that never waits; a busy machine
/// changes it less).
enum class Timer { wall, thread_cpu };

class Comparison {
 public:
  /// One repeat: does the work and returns how many operations that was.
  using Work = std::function<std::uint64_t()>;

  Comparison(std::string name, int argc, char** argv, Timer timer = Timer::wall)
      : Comparison(std::move(name), argc, argv, [timer] {
          timespec now{};
          clock_gettime(timer == Timer::wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
          return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
        }) {}
  /// `nanoseconds`: any other clock, such as the CPU time of a server that does the work.
  Comparison(std::string name, int argc, char** argv, std::function<double()> nanoseconds)
      : name_(std::move(name)), nanoseconds_(std::move(nanoseconds)) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view flag = argv[i];
      const bool has_value = i + 1 < argc;
      if (flag == "--repeats" && has_value) {
        repeats_ = std::max(1, std::atoi(argv[++i]));
      } else if (flag == "--json" && has_value) {
        json_path_ = argv[++i];
      } else if (flag == "--report-only") {
        report_only_ = true;
      } else {
        std::fprintf(stderr, "%s: unknown flag '%s'; accepted are --repeats N, --json FILE, --report-only\n",
                     name_.c_str(), argv[i]);
        std::exit(2);
      }
    }
  }

  /// `prepare` runs before every repeat, outside the measured time.
  void add(std::string subject, Work work, std::function<void()> prepare = {}) {
    subjects_.push_back({std::move(subject), std::move(work), std::move(prepare)});
  }

  /// One unmeasured round, then the repeats: every subject once per round, in alternating order.
  void run() {
    std::FILE* json = json_path_.empty() ? nullptr : std::fopen(json_path_.c_str(), "a");
    for (int round = -1; round < repeats_; ++round) {
      for (std::size_t i = 0; i < subjects_.size(); ++i) {
        Subject& subject = subjects_[round % 2 == 0 ? i : subjects_.size() - 1 - i];
        const double nanoseconds = measure(subject);
        if (round >= 0) record(subject, round, nanoseconds, json);
      }
    }
    if (json != nullptr) std::fclose(json);
    for (const Subject& subject : subjects_)
      std::printf("%-40s %12.1f ns/op (median of %d)\n", subject.name.c_str(), median_of(subject.name),
                  repeats_);
  }

  /// For subjects whose single repeat is too short to be one alone: at least so many, whatever the flag says.
  void repeat_at_least(int repeats) { repeats_ = std::max(repeats_, repeats); }

  /// Nanoseconds per operation.
  [[nodiscard]] double median_of(std::string_view subject) const { return median(rows(subject)); }
  /// Of the ratios of repeats that ran next to each other.
  [[nodiscard]] double ratio(std::string_view subject, std::string_view control) const {
    const std::vector<double> a = rows(subject), b = rows(control);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) ratios.push_back(a[i] / b[i]);
    return median(ratios);
  }

  void expect_ratio(std::string_view subject, std::string_view control, double at_most) {
    judge(std::string(subject) + " / " + std::string(control), ratio(subject, control), at_most, "x");
  }
  /// Nanoseconds per operation.
  void expect_at_most(std::string_view subject, double nanoseconds) {
    judge(std::string(subject), median_of(subject), nanoseconds, "ns");
  }
  /// Any other figure of this run, such as bytes per key.
  void judge(const std::string& what, double measured, double at_most, const char* unit) {
    const bool ok = measured <= at_most;
    failed_ = failed_ || !ok;
    std::printf("%s  %s: %.3g %s, at most %.3g %s\n", ok ? "ok  " : "OVER", what.c_str(), measured, unit,
                at_most, unit);
  }

  /// The program's exit code.
  [[nodiscard]] int verdict() const { return failed_ && !report_only_ ? 1 : 0; }

 private:
  struct Subject {
    std::string name;
    Work work;
    std::function<void()> prepare;
  };

  [[nodiscard]] double measure(Subject& subject) const {
    if (subject.prepare) subject.prepare();
    const double start = nanoseconds_();
    const std::uint64_t operations = subject.work();
    return (nanoseconds_() - start) / static_cast<double>(std::max<std::uint64_t>(operations, 1));
  }

  void record(const Subject& subject, int round, double nanoseconds, std::FILE* json) {
    rows_[subject.name].push_back(nanoseconds);
    char row[256];
    std::snprintf(row, sizeof(row), R"({"bench":"%s","subject":"%s","repeat":%d,"ns_per_op":%.3f})",
                  name_.c_str(), subject.name.c_str(), round, nanoseconds);
    std::printf("%s\n", row);
    if (json != nullptr) std::fprintf(json, "%s\n", row);
  }

  [[nodiscard]] const std::vector<double>& rows(std::string_view subject) const {
    const auto found = rows_.find(subject);
    if (found != rows_.end()) return found->second;
    std::fprintf(stderr, "%s: no subject '%.*s' was measured\n", name_.c_str(),
                 static_cast<int>(subject.size()), subject.data());
    std::exit(2);
  }

  std::string name_;
  std::function<double()> nanoseconds_;
  int repeats_ = 5;
  std::string json_path_;
  bool report_only_ = false;
  bool failed_ = false;
  std::vector<Subject> subjects_;
  std::map<std::string, std::vector<double>, std::less<>> rows_;
};

}  // namespace dripgate::bench
