// Report: collects every problem of one file while it is read, so that a person sees all of them at once.
// Used by every reader of this room. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace dripgate::config {

/// A place in the text: 1-based line and column, in bytes.
struct Mark {
  int line = 1;
  int column = 1;
  std::size_t offset = 0;  // of the same place from the start of the text
};

class Report {
 public:
  /// `text` outlives the report.
  Report(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  void error(Mark at, std::string message);
  void warning(Mark at, std::string message);

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] std::size_t errors() const { return errors_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  /// "line 6, column 5": for a second place named inside a message.
  [[nodiscard]] std::string place(Mark at) const;
  /// All problems by position; ends the report.
  [[nodiscard]] std::vector<Problem> take();

 private:
  [[nodiscard]] int shown_column(Mark at) const;

  std::string file_;
  std::string_view text_;
  std::vector<Problem> problems_;
  std::size_t errors_ = 0;
};

}  // namespace dripgate::config
