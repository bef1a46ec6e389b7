// A child process of a test: it never outlives the test program, and is ended by its own id.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dripgate::testing {

inline constexpr std::chrono::milliseconds kServerPatience{30'000};

/// Looks every few milliseconds until `holds` or the deadline.
bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience = kServerPatience);

class ChildProcess {
 public:
  /// Output and errors go to the file `out`. `environment`: NAME=VALUE, beside the test's own.
  /// Throws std::runtime_error when it cannot start. The kernel kills it when the thread that made it ends.
  ChildProcess(const std::vector<std::string>& words, const std::vector<std::string>& environment,
               const std::string& out);
  ~ChildProcess() { kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// SIGKILL, and waits until it is gone. Idempotent.
  void kill();
  void pause();   // SIGSTOP
  void resume();  // SIGCONT
  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool gone_ = false;
};

}  // namespace dripgate::testing
