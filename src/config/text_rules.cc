// Text rules: see text_rules.h.
#include "config/text_rules.h"

#include <string>
#include <string_view>

#include "config/yaml_tree.h"

namespace dripgate::config {
namespace {

// Length of the UTF-8 character at the start of `rest`; 0: not one.
std::size_t character_length(std::string_view rest) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length > rest.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// Empty: the character is fine.
std::string_view refusal(std::string_view rest) {
  const char c = rest.front();
  if (c == '\n' || c == '\t') return {};
  if (c == '\r') return rest.substr(0, 2) == "\r\n" ? "" : "a carriage return without a line feed";
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7F) return "a control character";
  if (character_length(rest) == 0) return "a byte that is not UTF-8";
  // NEL, LS and PS are line ends to some YAML readers and not to others; C1 controls are invisible.
  if (byte == 0xC2 && static_cast<unsigned char>(rest[1]) < 0xA0) return "a control character";
  if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) return "a Unicode line end";
  if (rest.starts_with("\xEF\xBB\xBF")) return "a byte order mark";
  return {};
}

}  // namespace

bool check_text(Report& report) {
  const std::string_view text = report.text();
  if (text.size() > kConfigBytesMax) {
    report.error({}, "the file is larger than " + std::to_string(kConfigBytesMax) + " bytes");
    return false;
  }
  Mark at;
  while (at.offset < text.size()) {
    const std::string_view rest = text.substr(at.offset);
    const std::string_view why = refusal(rest);
    if (!why.empty()) {
      report.error(at, std::string(why) + " stands here; accepted: UTF-8 text with LF or CR LF line ends");
      return false;
    }
    const std::size_t length = character_length(rest);
    at.offset += length;
    at.column += static_cast<int>(length);
    if (rest.front() == '\n') {
      ++at.line;
      at.column = 1;
    }
  }
  return true;
}

}  // namespace dripgate::config
