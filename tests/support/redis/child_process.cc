#include "support/redis/child_process.h"

#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dripgate::testing {
namespace {

constexpr int kLookEveryMs = 3;
constexpr int kCannotStart = 127;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: nothing here may allocate.
[[noreturn]] void become(char* const* words, char* const* environment, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotStart);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execve(words[0], words, environment);
  ::_exit(kCannotStart);
}

}  // namespace

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, kLookEveryMs);
  }
  return true;
}

ChildProcess::ChildProcess(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                           const std::string& out) {
  if (::access(words[0].c_str(), X_OK) != 0) {
    throw std::runtime_error(words[0] + " is missing: './dev test' installs it (Debian: redis-server)");
  }
  std::vector<std::string> arguments = words;
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(variables);
  const int file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), envp.data(), file, parent);
  ::close(file);
  if (pid_ < 0) throw std::runtime_error("cannot fork for " + words[0]);
}

void ChildProcess::kill() {
  if (gone_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  gone_ = true;
}

void ChildProcess::pause() {
  if (!gone_) ::kill(pid_, SIGSTOP);
}

void ChildProcess::resume() {
  if (!gone_) ::kill(pid_, SIGCONT);
}

bool ChildProcess::running() {
  if (!gone_ && ::waitpid(pid_, nullptr, WNOHANG) == pid_) gone_ = true;
  return !gone_;
}

}  // namespace dripgate::testing
