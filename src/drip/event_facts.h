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

  /// A name had to be looked up in the payload and the payload is not JSON.
  [[nodiscard]] bool malformed() const { return asked_payload_ && !*is_json_; }

 private:
  const broker::Message& message_;
  JsonPayload& json_;
  std::optional<bool> is_json_;
  bool asked_payload_ = false;
};

}  // namespace dripgate::drip
