// See the header.
#include "core/counter_key.h"

#include <algorithm>
#include <array>

#include "base/ip_network.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/small_letters.h"

namespace dripgate::core {
namespace {

constexpr std::size_t kSecretDigits = 16;
constexpr std::size_t kLongValueDigits = 32;
constexpr std::size_t kKeyBytesUsual = 64;  // a key that fits grows its text once
constexpr std::string_view kPlain = "._-/@+";

/// Names as short as in the documentation's keys; every other name is written out. The policy's id comes
/// before them, so that one policy's parts never meet another's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShortNames{
    {{"tenant", "t"}, {"apiKey", "k"}, {"username", "u"}, {"user", "u"}}};

constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kPlain.contains(c);
}

std::string ipv4_text(const unsigned char* bytes) {
  std::string out = std::to_string(bytes[0]);
  for (int i = 1; i < 4; ++i) out += '.' + std::to_string(bytes[i]);
  return out;
}

/// The last four bytes are an IPv4 address in ::ffff:0:0/96 and in 64:ff9b::/96, nowhere else.
bool holds_ipv4(const IpAddress& address) {
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<unsigned char, 12> kNat64{0, 0x64, 0xff, 0x9b};
  return std::equal(kMapped.begin(), kMapped.end(), address.begin()) ||
         std::equal(kNat64.begin(), kNat64.end(), address.begin());
}

std::string network64_text(const IpAddress& address) {
  constexpr char kDigits[] = "0123456789abcdef";
  int groups = 4;
  while (groups > 0 && address[2 * groups - 2] == 0 && address[2 * groups - 1] == 0) --groups;
  std::string out;
  for (int i = 0; i < groups; ++i) {
    if (i > 0) out += ':';
    const unsigned group = address[2 * i] * 256u + address[2 * i + 1];
    bool leading = true;
    for (int shift = 12; shift >= 0; shift -= 4) {
      const unsigned digit = group >> shift & 15;
      leading = leading && digit == 0 && shift > 0;
      if (!leading) out += kDigits[digit];
    }
  }
  return out + "::/64";
}

std::string_view short_name(std::string_view name) {
  for (const auto& [full, brief] : kShortNames)
    if (full == name) return brief;
  return name;
}

constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0; c < plain.size(); ++c) plain[c] = is_plain(static_cast<char>(c));
  return plain;
}();

void append_escaped(std::string& out, std::string_view value) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (value.size() > kKeyValueBytesMax) {
    out += '~';
    out += sha256_hex(value, kLongValueDigits);
    return;
  }
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (kIsPlain[byte]) {
      out += c;
      continue;
    }
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

void append_named(std::string& out, const KeyPart& part, std::string_view value) {
  append_escaped(out, short_name(part.name));
  out += ':';
  append_escaped(out, counted_value(part, value));
}

std::string_view trimmed(std::string_view value) {
  constexpr std::string_view kWhite = " \t\r\n\v\f";
  const std::size_t first = value.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(kWhite) - first + 1);
}

/// The scope is a part of the key or, as with a file's `scope: tenant`, another fact of the request.
std::string_view scope_name(const Policy& policy) {
  if (!policy.scope.empty()) return policy.scope;
  return policy.key.empty() ? std::string_view() : policy.key.front().name;
}

/// Without a scope the tag is one word; a scope's tag always holds a ':', so that no value can name this one.
void append_scope_tag(std::string& out, const Policy& policy, std::string_view scope,
                      const Descriptor& descriptor) {
  if (scope.empty()) {
    out += "{all}";
    return;
  }
  const auto value = descriptor.find(scope);
  if (value == descriptor.end()) {
    out += "{*}";
    return;
  }
  const auto part = std::ranges::find(policy.key, scope, &KeyPart::name);
  out += '{';
  append_named(out, part == policy.key.end() ? KeyPart{.name = std::string(scope)} : *part, value->second);
  out += '}';
}

}  // namespace

std::string escape_key_value(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  append_escaped(out, value);
  return out;
}

std::string canonical_ip(std::string_view text) {
  const auto address = parse_ip(text);
  if (!address) return std::string(text);
  return holds_ipv4(*address) ? ipv4_text(address->data() + 12) : network64_text(*address);
}

std::string counted_value(const KeyPart& part, std::string_view value) {
  if (part.trim) value = trimmed(value);
  std::string counted = part.lower ? small_letters(value) : std::string(value);
  if (part.secret || part.name == "apiKey") return sha256_hex(counted, kSecretDigits);
  return part.name == "ip" ? canonical_ip(counted) : counted;
}

std::string key_part_value(const KeyPart& part, std::string_view value) {
  return escape_key_value(counted_value(part, value));
}

std::string limit_key(const std::string& first, std::size_t index) {
  return index == 0 ? first : first + ":#" + std::to_string(index);
}

CounterKeys counter_keys(const Policy& policy, const Descriptor& descriptor, std::size_t limits) {
  CounterKeys result;
  const std::string_view scope = scope_name(policy);
  std::string key;
  key.reserve(kKeyBytesUsual);
  key += "rl:";
  append_scope_tag(key, policy, scope, descriptor);
  key += ':';
  append_escaped(key, policy.id);
  const std::size_t parts = key.size();
  for (const KeyPart& part : policy.key) {
    const auto value = descriptor.find(part.name);
    if (value == descriptor.end()) {
      result.missing.push_back(part.name);
    } else if (part.name != scope) {
      key += ':';
      append_named(key, part, value->second);
    }
  }
  if (!result.missing.empty()) {
    key.resize(parts);
    key += ":*";
  }
  if (limits == 0) return result;
  result.keys.reserve(limits);
  for (std::size_t i = 1; i < limits; ++i) result.keys.push_back(limit_key(key, i));
  result.keys.insert(result.keys.begin(), std::move(key));
  return result;
}

}  // namespace dripgate::core
