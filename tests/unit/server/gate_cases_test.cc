// The golden cases of whole requests, tests/golden/cases/*.gate (the words: tests/golden/README.md): a
// config, a timeline of what gateways and services ask, and what they are answered; over the routes, a real
// Checker and a memory store on virtual time.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "unit/server/gate_api.h"

namespace dripgate::server {
namespace {

using testing::Api;
using testing::GateApi;

struct Line {
  int number = 0;
  std::string text;                // without its block
  std::vector<std::string> block;  // the indented lines under it, without the indentation
};

std::vector<Line> read_lines(const std::string& path) {
  constexpr std::size_t kIndent = 4;
  std::ifstream in(path);
  std::vector<Line> lines;
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.empty() || text[0] == '#') continue;
    if (text.starts_with(std::string(kIndent, ' ')) && !lines.empty())
      lines.back().block.push_back(text.substr(kIndent));
    else
      lines.push_back({.number = number, .text = text, .block = {}});
  }
  return lines;
}

std::vector<std::string> case_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(DRIPGATE_SOURCE_DIR "/tests/golden/cases"))
    if (entry.path().extension() == ".gate") paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  return paths;
}

std::string joined(const std::vector<std::string>& block) {
  std::string text;
  for (const std::string& line : block) text += line + "\n";
  return text;
}

Duration span_of(const std::string& word) {  // "+1.5s"
  return Duration{static_cast<std::int64_t>(std::stold(word.substr(1)) * 1'000'000 + 0.5L)};
}

/// "HEADER: value" as its two parts.
std::pair<std::string, std::string> header_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::runtime_error("no header: " + text);
  const std::size_t value = text.find_first_not_of(' ', colon + 1);
  return {text.substr(0, colon), value == std::string::npos ? "" : text.substr(value)};
}

/// What follows the arrow, and what stands before it.
std::pair<std::string, std::string> around_arrow(const std::string& text) {
  const std::size_t arrow = text.rfind(" -> ");
  if (arrow == std::string::npos) throw std::runtime_error("no arrow in: " + text);
  return {text.substr(0, arrow), text.substr(arrow + 4)};
}

class GateCase : public ::testing::TestWithParam<std::string> {
 protected:
  void play() {
    for (const Line& line : read_lines(GetParam())) {
      SCOPED_TRACE(GetParam() + ":" + std::to_string(line.number) + ": " + line.text);
      if (line.text == "config") {
        api_.world.config = check::config_of(joined(line.block));
      } else if (line.text.starts_with("reload")) {
        reload(line);
      } else if (line.text == "store away" || line.text == "store back") {
        api_.world.shared.away = line.text == "store away";
      } else {
        ask(line);
      }
      if (HasFatalFailure()) return;
    }
  }

  /// "reload -> taken", or the place and words of one of the errors: "reload -> 4:5 unknown key 'limt'".
  void reload(const Line& line) {
    const std::string expected = around_arrow(line.text).second;
    auto loaded = config::parse(joined(line.block), "case");
    std::string errors;
    for (const auto& problem : loaded.problems)
      if (!problem.warning) errors += config::to_string(problem) + "\n";
    if (expected == "taken") {
      ASSERT_TRUE(loaded.config) << errors;
      api_.world.config = std::make_shared<const config::Config>(*std::move(loaded.config));
      return;
    }
    EXPECT_FALSE(loaded.config) << "the file was taken";
    const std::size_t blank = expected.find(' ');
    EXPECT_NE(errors.find("case:" + expected.substr(0, blank) + ":"), std::string::npos) << errors;
    EXPECT_NE(errors.find(expected.substr(blank + 1)), std::string::npos) << errors;
  }

  void ask(const Line& line) {
    const auto [question, status] = around_arrow(line.text);
    std::istringstream words(question);
    std::string time, word;
    words >> time >> word;
    api_.world.clock.set(dripgate::testing::kT0 + span_of(time));
    int times = 1;
    if (word.ends_with('x')) {
      times = std::stoi(word);
      words >> word;
    }
    std::string peer = "127.0.0.1";
    if (word == "from") words >> peer >> word;
    http::Request request = word == "forward" ? forwarded(words) : posted(words);
    request.peer.address = peer;
    request.peer.loopback = true;  // whom the process lets in is not what these cases are about
    for (const std::string& text : line.block)
      if (text.starts_with("> ")) request.headers.push_back(header_of(text.substr(2)));
    for (int i = 0; i < times; ++i) expect(api_.call(request), status, line.block);
  }

  /// "forward METHOD URI [QUERY]"
  static http::Request forwarded(std::istringstream& words) {
    std::string method, uri, query;
    words >> method >> uri >> query;
    return Api::request("GET", "/v1/forward-auth" + query, "",
                        {{"X-Forwarded-Method", method}, {"X-Forwarded-Uri", uri}});
  }
  /// "post TARGET BODY"
  static http::Request posted(std::istringstream& words) {
    std::string target, body;
    words >> target;
    std::getline(words >> std::ws, body);
    return Api::request("POST", target, body);
  }

  static void expect(const http::Response& response, const std::string& status,
                     const std::vector<std::string>& block) {
    EXPECT_EQ(std::to_string(response.status), status) << response.body;
    for (const std::string& text : block) {
      if (text.starts_with("< body ")) {
        EXPECT_NE(response.body.find(text.substr(7)), std::string::npos) << text << "\n" << response.body;
      } else if (text == "< empty body") {
        EXPECT_EQ(response.body, "");
      } else if (text.starts_with("< no ")) {
        EXPECT_EQ(http::find(response.headers, text.substr(5)), nullptr) << text;
      } else if (text.starts_with("< ")) {
        const auto [name, value] = header_of(text.substr(2));
        EXPECT_EQ(testing::header(response, name.c_str()), value) << name;
      } else if (!text.starts_with("> ")) {
        ADD_FAILURE() << "not understood: " << text;
      }
    }
  }

  GateApi api_;
};

TEST_P(GateCase, AnswersAsTheTextSays) {
  play();
}

INSTANTIATE_TEST_SUITE_P(Golden, GateCase, ::testing::ValuesIn(case_paths()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace dripgate::server
