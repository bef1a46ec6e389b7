// Words: see words.h.
#include "config/words.h"

#include <algorithm>

#include "base/small_letters.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kShownBytesMax = 60;
constexpr std::size_t kComparedBytesMax = 40;  // longer words are no slip of an accepted one

// Edits between two words: insert, delete, replace, swap of neighbours.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Without the marks people put between words: max_delay, max-delay and MaxDelay all mean maxDelay.
std::string bare(std::string_view text) {
  std::string result = small_letters(text);
  std::erase_if(result, [](char c) { return c == '_' || c == '-' || c == ' '; });
  return result;
}

std::string plural(const std::string& word) {
  return word.ends_with('y') ? word.substr(0, word.size() - 1) + "ies" : word + "s";
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const bool cut = text.size() > kShownBytesMax;
  std::string result = "'";
  for (const char c : text.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool visible = byte >= 0x20 && byte != 0x7F;
    result += visible ? c : '?';
  }
  // Never end in the middle of a UTF-8 character.
  if (cut) {
    while (result.size() > 1 && (static_cast<unsigned char>(result.back()) & 0x80) != 0) result.pop_back();
  }
  return result + (cut ? "...'" : "'");
}

std::string joined(std::span<const std::string_view> words) {
  return joined(std::vector<std::string>(words.begin(), words.end()));
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string result;
  for (const std::string& word : words) {
    if (!result.empty()) result += separator;
    result += word;
  }
  return result;
}

std::optional<std::string_view> closest(std::string_view word, std::span<const std::string_view> accepted) {
  if (word.size() > kComparedBytesMax) return std::nullopt;
  const std::string written = bare(word);
  const std::size_t allowed = written.size() <= 2 ? 0 : written.size() <= 4 ? 1 : 2;
  std::optional<std::string_view> best;
  std::size_t best_slips = allowed + 1;
  for (const std::string_view candidate : accepted) {
    const std::string other = bare(candidate);
    // One of many: "policy" for "policies" is one slip, however many letters it takes.
    const std::size_t n = plural(written) == other ? 1 : slips(written, other);
    if (n < best_slips) {
      best = candidate;
      best_slips = n;
    }
  }
  return best;
}

std::string accepted_words(std::string_view word, std::span<const std::string_view> accepted) {
  const auto near = closest(word, accepted);
  return (near ? "did you mean " + in_quotes(*near) + "? " : std::string()) + "accepted: " + joined(accepted);
}

}  // namespace dripgate::config
