#include "check/route.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "check/client_address.h"

namespace dripgate::check {
namespace {

constexpr char kDigits[] = "0123456789ABCDEF";

std::optional<unsigned> hex(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

/// Stands for itself in a path that a pattern can name.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x21; c < 0x7f; ++c)
    plain[c] = std::string_view("/%?#\\\"<>^`{|}").find(static_cast<char>(c)) == std::string_view::npos;
  return plain;
}();
bool plain(unsigned char c) {
  return kPlain[c];
}

void append(std::string& out, unsigned char c) {
  if (plain(c)) {
    out += static_cast<char>(c);
  } else {
    out += '%';
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
}

std::string normal_segment(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(segment[i]);
    if (c == '%' && i + 2 < segment.size()) {
      const auto high = hex(segment[i + 1]);
      const auto low = hex(segment[i + 2]);
      if (high && low) {
        c = static_cast<unsigned char>(*high << 4 | *low);
        i += 2;
      }
    }
    append(out, c);
  }
  return out;
}

/// "http://host/a" -> "/a".
std::string_view path_of(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const std::size_t slash = target.find('/', scheme + 3);
  return slash == std::string_view::npos ? std::string_view() : target.substr(slash);
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

/// A method is one word: a blank in it must not end it, or one route would read as two.
std::string normal_method(std::string_view text) {
  return upper(normal_segment(text));
}

/// Most paths are: no segment is empty, ".", ".." or holds anything but what stands for itself.
bool is_normal(std::string_view path) {
  if (!path.starts_with('/') || (path.size() > 1 && path.ends_with('/'))) return false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (c != '/' ? !plain(static_cast<unsigned char>(c))
                 : i + 1 < path.size() && (path[i + 1] == '/' || path[i + 1] == '.'))
      return false;
  }
  return true;
}

}  // namespace

std::string normal_path(std::string_view target) {
  if (is_normal(target)) return std::string(target);
  std::string_view rest = path_of(target);
  std::vector<std::string> segments;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    std::string segment = normal_segment(rest.substr(0, slash));
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(std::move(segment));
    }
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  std::string path;
  for (const std::string& segment : segments) path += '/' + segment;
  return path.empty() ? "/" : path;
}

void normalise(core::Descriptor& descriptor) {
  if (const auto ip = descriptor.find("ip"); ip != descriptor.end()) {
    const std::string_view bare = bare_address(ip->second);
    if (bare.size() < ip->second.size()) ip->second = std::string(bare);
  }
  const auto path = descriptor.find("path");
  if (path != descriptor.end() && !is_normal(path->second)) path->second = normal_path(path->second);
  const auto method = descriptor.find("method");
  if (method != descriptor.end() && !std::ranges::all_of(method->second, is_capital))
    method->second = normal_method(method->second);
  const auto route = descriptor.find("route");
  if (route == descriptor.end()) {
    if (path != descriptor.end() && method != descriptor.end())
      descriptor.emplace("route", method->second + ' ' + path->second);
    return;
  }
  const std::string& text = route->second;
  const std::size_t blank = text.find(' ');
  route->second = blank == std::string::npos ? normal_path(text)
                                             : normal_method(std::string_view(text).substr(0, blank)) + ' ' +
                                                   normal_path(text.substr(blank + 1));
}

}  // namespace dripgate::check
