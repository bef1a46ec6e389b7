// See the header. Rendering is injective: two different lists of values never give the same text. A value
// ends at the first character of the literal after it, so that character is escaped inside it; where there is
// no such character (names that touch, or a literal that could be part of an escape) a '~' ends it, which no
// value holds.
#include "core/key_template.h"

#include "base/limits.h"
#include "core/counter_key.h"

namespace dripgate::core {
namespace {

std::unexpected<Error> error_at(std::size_t offset, std::string_view what) {
  return fail(ErrorCode::invalid_argument, "column " + std::to_string(offset + 1) + ": " + std::string(what));
}

bool can_be_in_an_escape(char c) {
  return c == '%' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

void escape_also(std::string& text, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  const std::string escaped{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  for (std::size_t at = 0; (at = text.find(c, at)) != std::string::npos; at += escaped.size())
    text.replace(at, 1, escaped);
}

/// "~" in a JSON pointer is written ~0 and "/" ~1; nothing else may follow a '~'.
std::optional<std::size_t> bad_pointer_escape(std::string_view name) {
  if (!name.starts_with('/')) return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] == '~' && (i + 1 == name.size() || (name[i + 1] != '0' && name[i + 1] != '1'))) return i;
  return std::nullopt;
}

}  // namespace

Result<KeyTemplate> KeyTemplate::parse(std::string_view text) {
  KeyTemplate result;
  result.text_ = text;
  if (text.empty()) return error_at(0, "a template needs at least one character");
  const auto add_literal = [&result](char c) {
    if (result.pieces_.empty() || result.pieces_.back().is_name) result.pieces_.push_back({});
    result.pieces_.back().text += c;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      add_literal(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      add_literal(c);
      ++i;
    } else if (c == '}') {
      return error_at(i, "'}' closes nothing; a brace itself is written '}}'");
    } else {
      const std::size_t end = text.find_first_of("{}", i + 1);
      if (end == std::string_view::npos || text[end] == '{')
        return error_at(i, "'{' is never closed; a brace itself is written '{{'");
      const std::string_view name = text.substr(i + 1, end - i - 1);
      if (name.empty()) return error_at(i, "'{}' names nothing; write {attribute} or {/json/pointer}");
      if (const auto bad = bad_pointer_escape(name))
        return error_at(i + 1 + *bad, "in a JSON pointer '~' is followed by 0 or 1");
      result.pieces_.push_back({.is_name = true, .text = std::string(name)});
      i = end;
    }
  }
  return result;
}

std::optional<std::string> KeyTemplate::render(const Lookup& lookup) const {
  std::string out;
  std::size_t names_left = names().size();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].is_name) {
      out += pieces_[i].text;
      continue;
    }
    const std::optional<std::string> value = lookup(pieces_[i].text);
    if (!value || value->empty()) return std::nullopt;
    std::string escaped = escape_key_value(*value);
    if (--names_left > 0) {  // the last value ends where the literal after it, known in full, begins
      const Piece& next = pieces_[i + 1];
      if (next.is_name || can_be_in_an_escape(next.text.front()) || next.text.front() == '~') {
        escaped += '~';
      } else {
        escape_also(escaped, next.text.front());
      }
    }
    out += escaped;
  }
  return out;
}

std::optional<std::string> KeyTemplate::render_plain(const Lookup& lookup) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    if (!piece.is_name) {
      out += piece.text;
      continue;
    }
    const std::optional<std::string> value = lookup(piece.text);
    if (!value || value->empty()) return std::nullopt;
    out += *value;
  }
  return out;
}

std::vector<std::string> KeyTemplate::names() const {
  std::vector<std::string> result;
  for (const Piece& piece : pieces_)
    if (piece.is_name) result.push_back(piece.text);
  return result;
}

}  // namespace dripgate::core
