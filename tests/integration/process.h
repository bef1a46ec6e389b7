// The real binary as child processes: started, watched through the files they write, ended by their own id.
// Every wait has a deadline and looks for an event; nothing sleeps a fixed time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dripgate::integration {

inline constexpr std::chrono::milliseconds kPatience{60'000};

/// Looks every few milliseconds until `holds` or the deadline. The one place that waits.
bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience = kPatience);
/// Gives the processor away for a moment that the test chose (the time of a kill).
void let_pass(std::chrono::milliseconds span);

[[nodiscard]] std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// Path of the dripgate binary beside the test program.
[[nodiscard]] std::string binary();

class Process {
 public:
  /// Standard output and error go to `out` and `out`.err.
  Process(const std::vector<std::string>& arguments, const std::string& out,
          const std::string& program = binary());
  ~Process();  // kill -9 if it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number);
  void kill_hard();  // kill -9 and wait
  /// Its exit code; a signal is 128 + number; empty: it still runs.
  std::optional<int> exit_code(std::chrono::milliseconds patience = kPatience);
  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string out() const { return read_file(out_); }
  [[nodiscard]] std::string err() const { return read_file(out_ + ".err"); }

 private:
  pid_t pid_ = -1;
  std::string out_;
  std::optional<int> code_;
};

struct Finished {
  int code = -1;
  std::string out;
  std::string err;
};
/// Runs it to its end.
Finished run(const std::vector<std::string>& arguments, const std::string& out,
             std::chrono::milliseconds patience = kPatience);

}  // namespace dripgate::integration
