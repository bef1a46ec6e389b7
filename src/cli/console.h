// Console: what the verbs print. Results go to standard output, everything about the run to standard error,
// one sentence per fault. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dripgate::cli {

void print(std::string_view text);  // as it is
void print_line(std::string_view text);
/// "dripgate: <sentence>" on standard error.
void complain(std::string_view sentence);
/// Prints the fault; answers the exit code that stands for it.
int complain(const Error& error);

[[nodiscard]] bool terminal_out();
[[nodiscard]] bool terminal_err();

/// One line on standard error that is drawn over and over; nothing at all when that is not a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  void draw(std::string_view text);
  void clear();

 private:
  bool shown_;
  bool drawn_ = false;
};

/// "[=====>    ]" of `width` characters between the brackets.
[[nodiscard]] std::string bar(std::uint64_t done, std::uint64_t total, std::size_t width);
/// Text of a server made safe for a terminal: control characters become '?'.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace dripgate::cli
