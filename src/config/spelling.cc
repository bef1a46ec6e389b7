#include "config/spelling.h"

#include "base/small_letters.h"

namespace dripgate::config {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

/// Without query, "." segments, doubled and trailing slashes.
std::string path(std::string_view text) {
  std::string out;
  text = text.substr(0, text.find_first_of("?#"));
  while (!text.empty()) {
    text.remove_prefix(1);  // the slash
    const std::string_view segment = text.substr(0, text.find('/'));
    text.remove_prefix(segment.size());
    if (!segment.empty() && segment != ".") out.append("/").append(segment);
  }
  return out.empty() ? "/" : out;
}

}  // namespace

std::string spelled(std::string_view name, std::string_view pattern) {
  if (name == "method") return upper(pattern);
  if (name == "host") return small_letters(pattern);
  if (name != "path" && name != "route") return std::string(pattern);
  const std::size_t slash = pattern.find('/');
  if (slash == std::string_view::npos) return std::string(pattern);
  return std::string(pattern.substr(0, slash)) + path(pattern.substr(slash));
}

}  // namespace dripgate::config
