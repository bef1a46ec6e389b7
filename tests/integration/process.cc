#include "integration/process.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dripgate::integration {
namespace {

constexpr int kLookEveryMs = 3;

}  // namespace

void let_pass(std::chrono::milliseconds span) {
  ::poll(nullptr, 0, static_cast<int>(span.count()));
}

bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, kLookEveryMs);
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::string binary() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "dripgate").string();
}

Process::Process(const std::vector<std::string>& arguments, const std::string& out,
                 const std::string& program)
    : out_(out) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string err = out + ".err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), kFlags, 0644);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), kFlags, 0644);
  const int failed = ::posix_spawn(&pid_, words[0].c_str(), &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + words[0]);
}

Process::~Process() {
  kill_hard();
}

void Process::signal(int number) {
  if (!code_) ::kill(pid_, number);
}

void Process::kill_hard() {
  signal(SIGKILL);
  (void)exit_code();
}

bool Process::running() {
  return !exit_code(std::chrono::milliseconds{0});
}

std::optional<int> Process::exit_code(std::chrono::milliseconds patience) {
  if (code_) return code_;
  const auto gone = [this] {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  };
  (void)eventually(gone, patience);
  return code_;
}

Finished run(const std::vector<std::string>& arguments, const std::string& out,
             std::chrono::milliseconds patience) {
  Process process(arguments, out);
  const auto code = process.exit_code(patience);
  return {code.value_or(-1), process.out(), process.err()};
}

}  // namespace dripgate::integration
