// Words: how a message shows what was written and what is accepted. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dripgate::config {

/// The text in single quotes, shortened, with control characters made visible.
[[nodiscard]] std::string in_quotes(std::string_view text);
/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string_view> words);
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");
/// The accepted word that was probably meant: the same in another case, or at most two slips away.
[[nodiscard]] std::optional<std::string_view> closest(std::string_view word,
                                                      std::span<const std::string_view> accepted);
/// "did you mean 'limit'? accepted: limit, window" (the first half only where something is close).
[[nodiscard]] std::string accepted_words(std::string_view word, std::span<const std::string_view> accepted);

}  // namespace dripgate::config
