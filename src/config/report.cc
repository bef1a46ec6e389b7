// Report: see report.h.
#include "config/report.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace dripgate::config {

std::string to_string(const Problem& problem) {
  return problem.file + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
         (problem.warning ? "warning: " : "") + problem.message;
}

void Report::error(Mark at, std::string message) {
  ++errors_;
  problems_.push_back({file_, at.line, shown_column(at), false, std::move(message)});
}

void Report::warning(Mark at, std::string message) {
  problems_.push_back({file_, at.line, shown_column(at), true, std::move(message)});
}

std::string Report::place(Mark at) const {
  return "line " + std::to_string(at.line) + ", column " + std::to_string(shown_column(at));
}

std::vector<Problem> Report::take() {
  std::ranges::sort(problems_, {},
                    [](const Problem& p) { return std::tie(p.line, p.column, p.warning, p.message); });
  return std::exchange(problems_, {});
}

// Editors count characters, the parser counts bytes of UTF-8.
int Report::shown_column(Mark at) const {
  const std::size_t behind = static_cast<std::size_t>(at.column - 1);
  if (at.offset > text_.size() || behind > at.offset) return at.column;
  const std::string_view before = text_.substr(at.offset - behind, behind);
  const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return at.column - static_cast<int>(std::ranges::count_if(before, continuation));
}

}  // namespace dripgate::config
