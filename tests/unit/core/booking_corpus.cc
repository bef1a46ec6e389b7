#include "unit/core/booking_corpus.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "support/virtual_time.h"
#include "unit/core/booking_support.h"

namespace dripgate::testing {
namespace {

constexpr std::size_t kDifferencesShown = 10;

/// "125" is milliseconds, "125u" microseconds.
Duration span(const std::string& word) {
  const std::int64_t value = std::stoll(word);
  return Duration{word.back() == 'u' ? value : value * 1000};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

core::Limit parse_limit(const std::string& word) {
  const auto parts = split(word.substr(1), ',');
  const core::Units units = std::stoll(parts[0]);
  if (word[0] == 'f') return window_limit(units, span(parts[1]));
  if (word[0] == 'l') return log_limit(units, span(parts[1]));
  if (word[0] == 'b') return bucket_limit(units, span(parts[1]), std::stoll(parts[2]));
  auto zone = std::make_shared<Zone>();
  zone->name = word;
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    zone->transitions.push_back({WallTime{span(parts[i])}, span(parts[i + 1])});
  return day_limit(units, zone);
}

class History {
 public:
  explicit History(const std::string& header) : title_(header) {
    std::istringstream in(header);
    std::string word;
    std::string spread;
    std::string horizon;
    in >> word >> word >> word >> spread >> horizon;
    std::vector<core::Limit> limits;
    while (in >> word) limits.push_back(parse_limit(word));
    drip_ = std::make_unique<Drip>(std::move(limits),
                                   spread == "even" ? core::Spread::even : core::Spread::start);
    drip_->policy.max_delay = span(horizon);
  }

  /// Empty: the answer is the expected one.
  std::string step(const std::string& line) {
    const auto words = split(line, ' ');
    switch (words[0][0]) {
      case 'r':
        return compare(line, reserve(words), words[4]);
      case 'g':
        return compare(line, gate(words), words[4]);
      case 'x':
        now_ += span(words[2]);
        return drip_->release(words[1], now_) ? "" : "not given back: " + line;
      case 'c':  // only the clock moved
        now_ += span(words[1]);
        drip_->state.last_seen = std::max(drip_->state.last_seen, now_);
        return "";
      case 'f':
        core::freeze(drip_->state, kT0 + span(words[1]));
        return "";
      case 'l':
        for (std::size_t i = 0; i < drip_->policy.limits.size(); ++i)
          drip_->policy.limits[i].limit = std::stoll(words[i + 1]);
        return "";
      default:
        return compare(line, std::to_string(drip_->state.pending()), words[1]);
    }
  }

  [[nodiscard]] const std::string& title() const { return title_; }

 private:
  std::string compare(const std::string& line, const std::string& answer, const std::string& expected) {
    return answer == expected ? "" : line + ": got " + answer + "\n";
  }

  static std::string number(Duration d) {
    return d.count() % 1000 == 0 ? std::to_string(d.count() / 1000) : std::to_string(d.count()) + "u";
  }

  std::string reserve(const std::vector<std::string>& words) {
    now_ += span(words[3]);
    core::ReserveInput input;
    input.cost = std::stoll(words[2]);
    if (words.size() > 5) input.first_received = now_ - span(words[5]);
    // The other implementation books a dead letter again when it is asked; ours wants it said.
    const auto& record = drip_->records[words[1]];
    if (record && record->state == core::EventState::dead_letter) {
      input.after_generation = record->generation;
      if (!input.first_received) input.first_received = std::max(now_, drip_->state.last_seen);
    }
    if (record && record->state == core::EventState::given_back && !input.first_received)
      input.first_received = std::max(now_, drip_->state.last_seen);
    const auto answer = drip_->reserve(words[1], input, now_);
    switch (answer.outcome) {
      case core::ReserveOutcome::now:
        drip_->settle(words[1]);
        return "N";
      case core::ReserveOutcome::at:
        return "A" + number(answer.slot - answer.now);
      case core::ReserveOutcome::beyond_horizon:
        return "B" + number(answer.slot - answer.now);
      case core::ReserveOutcome::impossible:
        return "I";
      default:
        return "D";
    }
  }

  std::string gate(const std::vector<std::string>& words) {
    now_ += span(words[3]);
    const bool was_dead =
        drip_->records[words[1]] && drip_->records[words[1]]->state == core::EventState::dead_letter;
    const auto answer = drip_->gate(words[1], static_cast<std::uint32_t>(std::stoul(words[2])), now_);
    if (was_dead && answer.outcome != core::GateOutcome::duplicate) return "X";
    switch (answer.outcome) {
      case core::GateOutcome::go:
        drip_->settle(words[1]);
        return "G";
      case core::GateOutcome::rebook:
        return "R" + number(answer.slot - answer.now);
      case core::GateOutcome::beyond_horizon:
        return "B" + number(answer.slot - answer.now);
      case core::GateOutcome::impossible:
        return "I";
      case core::GateOutcome::duplicate:
        return "D";
    }
    return "?";
  }

  std::string title_;
  std::unique_ptr<Drip> drip_;
  WallTime now_ = kT0;
};

}  // namespace

CorpusResult replay_corpus(const std::string& path) {
  CorpusResult result;
  std::ifstream in(path);
  std::unique_ptr<History> history;
  std::size_t shown = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == 'H') {
      history = std::make_unique<History>(line);
      ++result.histories;
      continue;
    }
    if (!history) continue;
    ++result.operations;
    const std::string difference = history->step(line);
    if (difference.empty()) continue;
    ++result.different;
    if (++shown <= kDifferencesShown) result.first += history->title() + "\n  " + difference;
    history = nullptr;  // what follows a difference says nothing
  }
  return result;
}

}  // namespace dripgate::testing
