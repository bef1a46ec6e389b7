// KeyTemplate: "merchant_{merchant_id}:payout" with names filled from an event: attributes first, then the
// JSON payload. {name} is an attribute or a top-level member, {/a/b} a JSON pointer into the payload. "{{"
// and "}}" are literal braces.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dripgate::core {

class KeyTemplate {
 public:
  /// Errors: invalid_argument; detail starts with the 1-based column inside `text`: "column 9: '{' is never
  /// closed".
  static Result<KeyTemplate> parse(std::string_view text);

  /// Looks one name up; empty: the event has no such value (missing, null, empty text, an object or a list).
  using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

  /// The rendered text with every value escaped so that none can forge a delimiter, a brace or another key
  /// (core/counter_key.h); empty when a name is missing.
  [[nodiscard]] std::optional<std::string> render(const Lookup& lookup) const;
  /// The same without escaping: for event ids, which are compared but never split.
  [[nodiscard]] std::optional<std::string> render_plain(const Lookup& lookup) const;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Piece {
    bool is_name = false;
    std::string text;
  };
  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace dripgate::core
