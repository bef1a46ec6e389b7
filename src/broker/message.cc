#include "broker/message.h"

#include <algorithm>

namespace dripgate::broker {

const std::string* find(const Attributes& attributes, std::string_view name) {
  const auto it = std::ranges::find(attributes, name, &Attributes::value_type::first);
  return it == attributes.end() ? nullptr : &it->second;
}

void set(Attributes& attributes, std::string_view name, std::string value) {
  const auto it = std::ranges::find(attributes, name, &Attributes::value_type::first);
  if (it == attributes.end()) {
    attributes.emplace_back(name, std::move(value));
  } else {
    it->second = std::move(value);
  }
}

std::size_t bytes_of(const Message& message) {
  std::size_t bytes = message.id.size() + message.body.size();
  for (const auto& [name, value] : message.attributes) bytes += name.size() + value.size();
  return bytes;
}

}  // namespace dripgate::broker
