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
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* find(const Headers& headers, std::string_view name) {
  const auto it = std::ranges::find_if(headers, [&](const auto& h) { return same_name(h.first, name); });
  return it == headers.end() ? nullptr : &it->second;
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
