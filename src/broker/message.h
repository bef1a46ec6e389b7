// Message: one event as it travels through topics, timers and sinks. Bytes are never changed on the way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "broker/attribute_names.h"

namespace dripgate::broker {

/// Ordered name/value pairs; names are unique, compared as bytes.
using Attributes = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] const std::string* find(const Attributes& attributes, std::string_view name);
void set(Attributes& attributes, std::string_view name, std::string value);

struct Message {
  std::string id;  // the broker's own, stable over redeliveries
  std::string body;
  Attributes attributes;
  WallTime published;  // when the broker first took it
};

/// What a message counts as in flow control.
[[nodiscard]] std::size_t bytes_of(const Message& message);

}  // namespace dripgate::broker
