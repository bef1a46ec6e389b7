// Golden cases: text that a person can read, a policy and a timeline with the expected answers (docs in
// tests/golden/README.md).
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace dripgate::golden {

struct Line {
  int number = 0;
  std::vector<std::string> words;
  std::string text;
};

struct CaseFile {
  std::string path;
  std::string yaml;                  // the indented block after "policy", "stream" or "vendor"
  std::vector<Line> lines;           // everything else, comments and blank lines left out
  std::vector<std::string> reloads;  // the indented blocks after "reload", in order
};

[[nodiscard]] CaseFile read_case(const std::string& path);
/// All files of tests/golden/cases with this ending, sorted.
[[nodiscard]] std::vector<std::string> case_paths(const std::string& ending);

/// "90s", "10ms", "1.5s", "2h", "1d", "600ms", "3us".
[[nodiscard]] Duration span_of(const std::string& word);
/// "2026-08-03T12:00:01Z", or "12:00:01.500" on the day of `day`.
[[nodiscard]] WallTime instant_of(const std::string& word, WallTime day);

/// The name of a gtest parameter made of a file's name.
[[nodiscard]] std::string case_name(const std::string& path);

}  // namespace dripgate::golden
