#include "drip/event_facts.h"

namespace dripgate::drip {

std::optional<std::string> EventFacts::find(std::string_view name) {
  const std::string* attribute = broker::find(message_.attributes, name);
  if (attribute != nullptr && !attribute->empty()) return *attribute;
  if (!payload_) payload_ = json_.check(message_.body);
  if (*payload_ != JsonCheck::document) return {};
  return json_.text_at(message_.body, name);
}

}  // namespace dripgate::drip
