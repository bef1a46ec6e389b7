// JsonText: JSON as it is written, member by member, for answers that are asked for 100,000 times a second.
// Texts are ASCII or UTF-8 already. Nothing is checked: the caller closes what it opens.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dripgate::render {

class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}

  /// Of a member: nothing in it needs an escape.
  JsonText& name(std::string_view name) {
    comma();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    fresh_ = true;
    return *this;
  }
  void open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    fresh_ = false;
  }
  void text(std::string_view value) {
    comma();
    quote(value);
  }
  void number(std::int64_t value) {
    comma();
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, static_cast<std::size_t>(end - digits));
  }
  /// true, false, null, or JSON that is written already.
  void raw(std::string_view value) {
    comma();
    out_ += value;
  }
  void flag(bool value) { raw(value ? "true" : "false"); }
  void number_or_null(const std::optional<std::int64_t>& value) { value ? number(*value) : raw("null"); }

 private:
  static bool needs_escape(unsigned char byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  void quote(std::string_view value) {
    out_ += '"';
    bool plain = true;
    for (const char c : value) plain &= !needs_escape(static_cast<unsigned char>(c));
    if (plain) {
      out_ += value;
      out_ += '"';
      return;
    }
    std::size_t from = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto byte = static_cast<unsigned char>(value[i]);
      if (!needs_escape(byte)) continue;
      out_ += value.substr(from, i - from);
      escape(byte);
      from = i + 1;
    }
    out_ += value.substr(from);
    out_ += '"';
  }
  void escape(unsigned char byte) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (byte >= 0x20) {
      out_ += '\\';
      out_ += static_cast<char>(byte);
    } else {
      out_ += "\\u00";
      out_ += kDigits[byte >> 4];
      out_ += kDigits[byte & 15];
    }
  }

  std::string& out_;
  bool fresh_ = true;  // what comes next is the first of its object, or a member's value
};

}  // namespace dripgate::render
