// Scalars: one value of the file as a number, a duration, a word. Each reports what is wrong and what is
// accepted, and answers empty. `what` names the key ("window"). Used by every reader of this room. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "config/report.h"
#include "config/words.h"
#include "config/yaml_tree.h"
#include "core/names.h"

namespace dripgate::config {

struct Range {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// Plain decimal digits only: YAML readers disagree on 010, 1_000, 0x10, 1e3 and 10.0.
[[nodiscard]] std::optional<std::int64_t> read_integer(const Node& node, std::string_view what, Range range,
                                                       Report& report);
/// Bytes: plain digits, or digits and KiB, MiB, GiB.
[[nodiscard]] std::optional<std::int64_t> read_bytes(const Node& node, std::string_view what, Range range,
                                                     Report& report);
/// A positive number with ms, s, m, h or d ("60s", "1.5s", "1d"), a whole number of microseconds, at most
/// max.
[[nodiscard]] std::optional<Duration> read_duration(const Node& node, std::string_view what, Duration max,
                                                    Report& report);
/// true or false, unquoted: yes, no, on, off mean different things to different readers.
[[nodiscard]] std::optional<bool> read_flag(const Node& node, std::string_view what, Report& report);
/// Any text of 1 to `max` bytes without control characters.
[[nodiscard]] std::optional<std::string> read_text(const Node& node, std::string_view what, std::size_t max,
                                                   Report& report);
/// A name that can stand in keys, URLs and metrics: letters, digits and . _ - after a letter or digit.
[[nodiscard]] std::optional<std::string> read_name(const Node& node, std::string_view what, Report& report);

/// "60s", "1.5s", "2h": the shortest way to write a duration.
[[nodiscard]] std::string shown(Duration duration);

template <class E>
struct Word {
  std::string_view word;
  E value;
};

/// A value under the name that it has everywhere (core/names.h).
template <class E>
[[nodiscard]] constexpr Word<E> named(E value) {
  return {core::to_string(value), value};
}

/// One of a fixed set of words.
template <class E, std::size_t N>
[[nodiscard]] std::optional<E> read_word(const Node& node, std::string_view what,
                                         const std::array<Word<E>, N>& words, Report& report) {
  std::array<std::string_view, N> accepted;
  for (std::size_t i = 0; i < N; ++i) accepted[i] = words[i].word;
  if (node.kind != Node::Kind::scalar) {
    report.error(node.at, std::string(what) + " must be one word; accepted: " + joined(accepted));
    return std::nullopt;
  }
  for (const Word<E>& word : words) {
    if (node.text == word.word) return word.value;
  }
  report.error(node.at, std::string(what) + " is " + in_quotes(node.text) + "; " +
                            accepted_words(node.text, accepted));
  return std::nullopt;
}

}  // namespace dripgate::config
