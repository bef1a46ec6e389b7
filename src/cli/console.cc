#include "cli/console.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/verbs.h"

namespace dripgate::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_line(std::string_view text) {
  fmt::print(stdout, "{}\n", text);
}

void complain(std::string_view sentence) {
  fmt::print(stderr, "dripgate: {}\n", sentence);
}

int complain(const Error& error) {
  complain(std::string_view(error.detail));
  switch (error.code) {
    case ErrorCode::unavailable:
    case ErrorCode::timed_out:
      return kExitUnreachable;
    case ErrorCode::invalid_argument:
      return kExitUsage;
    default:
      return kExitRefused;
  }
}

bool terminal_out() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool terminal_err() {
  return ::isatty(STDERR_FILENO) == 1;
}

ProgressLine::ProgressLine() : shown_(terminal_err()) {}

void ProgressLine::draw(std::string_view text) {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[2K{}", text);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[2K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string bar(std::uint64_t done, std::uint64_t total, std::size_t width) {
  const std::uint64_t full = total == 0 ? 0 : std::min(done, total) * width / total;
  std::string text(full, '=');
  if (full < width) text += '>';
  text.resize(width, ' ');
  return "[" + text + "]";
}

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return safe;
}

}  // namespace dripgate::cli
