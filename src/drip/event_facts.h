// EventFacts: looks up the names of a stream's templates in one event: attributes first, then the JSON
// payload. Made by intake, lives for one event. On the executor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/message.h"
#include "drip/json_payload.h"

namespace dripgate::drip {

class EventFacts {
 public:
  /// Both outlive this object.
  EventFacts(const broker::Message& message, JsonPayload& json) : message_(message), json_(json) {}

  /// {name}: an attribute, else a top-level member; {/a/b}: a JSON pointer. Empty: missing, null or "".
  [[nodiscard]] std::optional<std::string> find(std::string_view name);

  /// What the payload is, once a name had to be looked up in it; document before that.
  [[nodiscard]] JsonCheck payload() const { return payload_.value_or(JsonCheck::document); }

 private:
  const broker::Message& message_;
  JsonPayload& json_;
  std::optional<JsonCheck> payload_;
};

}  // namespace dripgate::drip
