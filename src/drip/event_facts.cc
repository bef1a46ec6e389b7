#include "drip/event_facts.h"

namespace dripgate::drip {

std::optional<std::string> EventFacts::find(std::string_view name) {
  const std::string* attribute = broker::find(message_.attributes, name);
  if (attribute != nullptr && !attribute->empty()) return *attribute;
  asked_payload_ = true;
  if (!is_json_) is_json_ = json_.is_document(message_.body);
  if (!*is_json_) return {};
  return json_.text_at(message_.body, name);
}

}  // namespace dripgate::drip
