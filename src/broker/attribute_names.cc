#include "broker/attribute_names.h"

#include <algorithm>

namespace dripgate::broker {

bool is_reserved(std::string_view attribute) {
  return std::ranges::equal(attribute.substr(0, kReservedPrefix.size()), kReservedPrefix,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

}  // namespace dripgate::broker
