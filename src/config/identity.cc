// Identity: see identity.h.
#include "config/identity.h"

#include "config/words.h"

namespace dripgate::config {

std::string label(std::string_view kind, const Node& item, std::size_t number) {
  for (std::size_t i = 0; i < item.keys.size(); ++i) {
    if (item.keys[i].text == "id" && item.items[i].kind == Node::Kind::scalar) {
      return std::string(kind) + " " + in_quotes(item.items[i].text);
    }
  }
  return std::string(kind) + " " + std::to_string(number);
}

bool Unique::add(const std::string& value, Mark at) {
  const auto [first, fresh] = seen_.emplace(value, at);
  if (!fresh)
    report_.error(at, "duplicate " + what_ + " " + in_quotes(value) + "; the first is at " +
                          report_.place(first->second));
  return fresh;
}

}  // namespace dripgate::config
