// Header look-up. Pure.
#include "http/message.h"

#include <algorithm>

namespace dripgate::http {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  return true;
}

const std::string* find(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key.size() == name.size() && same_name(key, name)) return &value;
  return nullptr;
}

std::string_view value_of(const Headers& headers, std::string_view name) {
  const std::string* value = find(headers, name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

void set(Headers& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& h) { return same_name(h.first, name); });
  headers.emplace_back(name, std::move(value));
}

}  // namespace dripgate::http
