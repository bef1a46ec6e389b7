#include "golden/case_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dripgate::golden {

namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

CaseFile read_case(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  CaseFile file{.path = path, .yaml = {}, .lines = {}, .reloads = {}};
  std::string* block = nullptr;
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const auto words = split(text);
    if (words.empty() || words[0][0] == '#') continue;
    if (text[0] == ' ' && block != nullptr) {
      *block += text + "\n";
      continue;
    }
    block = nullptr;
    if (words[0] == "policy" || words[0] == "stream" || words[0] == "vendor") {
      block = &file.yaml;
      continue;
    }
    if (words[0] == "reload") {
      block = &file.reloads.emplace_back();
    }
    file.lines.push_back({number, words, text});
  }
  return file;
}

std::vector<std::string> case_paths(const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(DRIPGATE_SOURCE_DIR "/tests/golden/cases")) {
    if (entry.path().extension() == ending) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

Duration span_of(const std::string& word) {
  std::size_t used = 0;
  const long double number = std::stold(word, &used);
  const std::string unit = word.substr(used);
  const long double us = unit == "us"   ? 1
                         : unit == "ms" ? 1'000
                         : unit == "s"  ? 1'000'000
                         : unit == "m"  ? 60'000'000
                         : unit == "h"  ? 3'600'000'000.0L
                         : unit == "d"  ? 86'400'000'000.0L
                                        : throw std::runtime_error("no unit in '" + word + "'");
  return Duration{std::llround(number * us)};
}

WallTime instant_of(const std::string& word, WallTime day) {
  int year = 0;
  unsigned month = 0;
  unsigned date = 0;
  std::string clock = word;
  auto midnight = std::chrono::floor<std::chrono::days>(day);
  if (std::sscanf(word.c_str(), "%d-%u-%uT", &year, &month, &date) == 3) {
    midnight =
        std::chrono::sys_days{std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{date}};
    clock = word.substr(word.find('T') + 1);
  }
  int hour = 0;
  int minute = 0;
  long double second = 0;
  if (std::sscanf(clock.c_str(), "%d:%d:%Lf", &hour, &minute, &second) != 3) {
    throw std::runtime_error("no time of day in '" + word + "'");
  }
  return WallTime{midnight} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         Duration{std::llround(second * 1'000'000)};
}

std::string case_name(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace dripgate::golden
