// A reader of RFC 9651 lists whose members are strings with integer parameters: the form of RateLimit-Policy
// and RateLimit. Written from the RFC's grammar (sections 3.1, 3.1.2, 3.3.1, 3.3.3), not from what Dripgate
// writes; it takes nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dripgate::fuzz {

struct Member {
  std::string text;
  std::vector<std::pair<std::string, std::int64_t>> parameters;

  [[nodiscard]] std::optional<std::int64_t> parameter(std::string_view key) const {
    for (const auto& [name, value] : parameters)
      if (name == key) return value;
    return std::nullopt;
  }
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view field) : rest_(field) {}

  /// sf-list; empty: it is none. An empty field has no members.
  [[nodiscard]] std::optional<std::vector<Member>> list() {
    std::vector<Member> members;
    while (!rest_.empty()) {
      auto member = item();
      if (!member) return std::nullopt;
      members.push_back(*std::move(member));
      blanks();
      if (rest_.empty()) return members;
      if (!take(',')) return std::nullopt;
      blanks();
      if (rest_.empty()) return std::nullopt;  // a comma at the end
    }
    return members;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void blanks() {
    while (take(' ') || take('\t')) continue;
  }
  std::optional<Member> item() {
    auto text = string();
    if (!text) return std::nullopt;
    Member member{.text = *std::move(text), .parameters = {}};
    while (take(';')) {
      while (take(' ')) continue;
      const std::string name = key();
      if (name.empty() || !take('=')) return std::nullopt;
      const auto value = integer();
      if (!value) return std::nullopt;
      member.parameters.emplace_back(name, *value);
    }
    return member;
  }
  std::optional<std::string> string() {
    std::string text;
    if (!take('"')) return std::nullopt;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c < 0x20 || c > 0x7e) return std::nullopt;
      text += c;
      if (c != '\\') continue;
      if (!rest_.starts_with('"') && !rest_.starts_with('\\')) return std::nullopt;
      text.back() = rest_.front();
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }
  std::string key() {
    const auto first = [](char c) { return (c >= 'a' && c <= 'z') || c == '*'; };
    const auto later = [&](char c) {
      return first(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    };
    std::string name;
    while (!rest_.empty() && (name.empty() ? first(rest_.front()) : later(rest_.front()))) {
      name += rest_.front();
      rest_.remove_prefix(1);
    }
    return name;
  }
  std::optional<std::int64_t> integer() {
    constexpr std::size_t kDigitsMax = 15;
    const bool negative = take('-');
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      if (++digits > kDigitsMax) return std::nullopt;
      value = value * 10 + (rest_.front() - '0');
    }
    if (digits == 0) return std::nullopt;
    return negative ? -value : value;
  }

  std::string_view rest_;
};

}  // namespace dripgate::fuzz
