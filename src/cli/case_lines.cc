#include "cli/case_lines.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cli/option_values.h"

namespace dripgate::cli {
namespace {

std::unexpected<Error> refuse(std::string detail) {
  return fail(ErrorCode::invalid_argument, std::move(detail));
}

/// Words are apart by blanks; "…" holds blanks together and may stand behind a '='. '#' at the start of a
/// word begins a comment.
Result<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool begun = false;
  const auto end_word = [&] {
    if (begun) words.push_back(std::exchange(word, {}));
    begun = false;
  };
  for (const char c : line) {
    if (!quoted && !begun && c == '#') break;
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
      end_word();
    } else {
      word += c;
      begun = true;
    }
  }
  if (quoted) return refuse("a quotation mark is not closed");
  end_word();
  return words;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Result<check::Kind> kind_of(const std::string& word) {
  if (word == "allow") return check::Kind::allowed;
  if (word == "deny") return check::Kind::denied;
  if (word == "impossible") return check::Kind::impossible;
  if (word == "missing_key") return check::Kind::missing_key;
  return refuse("'" + word + "'; accepted behind ->: allow, deny, impossible, missing_key");
}

class Reader {
 public:
  explicit Reader(std::vector<std::string> words) : words_(std::move(words)) {}

  Result<void> read(CaseLine& line) {
    if (words_[at_].starts_with('+')) {
      auto span = parse_span(words_[at_++].substr(1));
      if (!span) return std::unexpected(std::move(span).error());
      line.at = *span;
    }
    if (auto times = read_times(line); !times) return times;
    while (at_ < words_.size() && words_[at_] != "->") {
      if (auto fact = read_fact(line.request); !fact) return fact;
    }
    if (at_ + 1 >= words_.size()) return refuse("no answer; accepted: FACTS -> allow, deny, ...");
    ++at_;
    return read_answer(line);
  }

 private:
  Result<void> read_times(CaseLine& line) {
    const std::string word = at_ < words_.size() ? words_[at_] : "";
    if (!word.ends_with('x') || word.contains('=')) return {};
    const auto times = number_of(std::string_view(word).substr(0, word.size() - 1));
    if (!times || *times < 1 || *times > kCaseTimesMax)
      return refuse("'" + word + "'; accepted: 1x to 1000000x");
    line.times = *times;
    ++at_;
    return {};
  }

  Result<void> read_fact(check::Request& request) {
    const std::string& word = words_[at_++];
    if (word == "cost") {
      const auto cost = at_ < words_.size() ? number_of(words_[at_++]) : std::nullopt;
      if (!cost) return refuse("cost; accepted: a whole number, 0 or more");
      request.cost = *cost;
      return {};
    }
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0)
      return refuse("'" + word + "'; accepted: NAME=VALUE, cost N, ->");
    if (!request.descriptor.emplace(word.substr(0, sign), word.substr(sign + 1)).second)
      return refuse("'" + word.substr(0, sign) + "' is there twice");
    return {};
  }

  Result<void> read_answer(CaseLine& line) {
    auto kind = kind_of(words_[at_++]);
    if (!kind) return std::unexpected(std::move(kind).error());
    line.kind = *kind;
    while (at_ < words_.size()) {
      const std::string& name = words_[at_];
      if (at_ + 1 == words_.size()) return refuse("'" + name + "' has no value");
      const std::string& value = words_[at_ + 1];
      at_ += 2;
      if (name == "policy") {
        line.policy = value;
      } else if (name == "remaining" && number_of(value)) {
        line.remaining = *number_of(value);
      } else if (const auto span = parse_span(value); name == "wait" && span) {
        line.wait = *span;
      } else {
        return refuse("'" + name + " " + value + "'; accepted: policy ID, remaining N, wait TIME");
      }
    }
    return {};
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

std::string wait_text(const std::optional<Duration>& wait) {
  return wait ? fmt::format("{} ms", static_cast<double>(wait->count()) / 1e3) : "none";
}

}  // namespace

Result<std::vector<CaseLine>> read_cases(std::string_view text) {
  std::vector<CaseLine> lines;
  std::vector<std::string> wrong;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    auto words = words_of(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (words && words->empty()) continue;
    CaseLine line{.number = number, .request = {}};
    const Result<void> read =
        words ? Reader(*std::move(words)).read(line) : std::unexpected(std::move(words).error());
    if (!read) {
      wrong.push_back(fmt::format("line {}: {}", number, read.error().detail));
    } else if (!lines.empty() && line.at < lines.back().at) {
      wrong.push_back(fmt::format("line {}: its time is before that of the line above", number));
    } else if (lines.size() == kCaseLinesMax) {
      return refuse(fmt::format("over {} lines", kCaseLinesMax));
    } else {
      lines.push_back(std::move(line));
    }
    if (wrong.size() == kWrongLinesNamedMax) break;
  }
  if (!wrong.empty()) return refuse(fmt::format("{}", fmt::join(wrong, "\n")));
  return lines;
}

std::string difference(const CaseLine& line, const check::Answer& answer) {
  if (answer.kind != line.kind)
    return fmt::format("expected {}, is {}", to_string(line.kind), to_string(answer.kind));
  const check::PolicyAnswer* deciding = answer.deciding();
  const std::string policy = deciding == nullptr ? "none" : deciding->plan.policy->id;
  if (line.policy && *line.policy != policy)
    return fmt::format("expected policy {}, is {}", *line.policy, policy);
  const core::LimitOutcome* numbers = deciding == nullptr ? nullptr : deciding->numbers();
  if (line.remaining && (numbers == nullptr || numbers->remaining != *line.remaining))
    return fmt::format("expected remaining {}, is {}", *line.remaining,
                       numbers == nullptr ? "unknown" : std::to_string(numbers->remaining));
  if (line.wait && answer.retry_after != line.wait)
    return fmt::format("expected wait {}, is {}", wait_text(line.wait), wait_text(answer.retry_after));
  return {};
}

}  // namespace dripgate::cli
