#include "drip/intake.h"

#include <charconv>

#include "base/limits.h"
#include "broker/attribute_names.h"
#include "drip/event_facts.h"
#include "drip/names.h"
#include "drip/reasons.h"

namespace dripgate::drip {
namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// Takes out what belongs to the drip, so that no source can forge a ticket; answers the two that count.
struct Given {
  std::string id;
  int hops = 0;
};
Given take_reserved(broker::Attributes& attributes) {
  Given given;
  if (const std::string* id = broker::find(attributes, broker::kGivenIdAttribute)) given.id = *id;
  if (const std::string* hops = broker::find(attributes, broker::kHopsAttribute)) {
    given.hops = whole_number<int>(*hops).value_or(0);
  }
  std::erase_if(attributes, [](const auto& attribute) { return broker::is_reserved(attribute.first); });
  return given;
}

void refuse(Admission& admission, std::string_view reason, std::string detail) {
  admission.reason = reason;
  admission.detail = std::move(detail);
  admission.event->generation = kNoGeneration;
}

void render_key(Admission& admission, const core::KeyTemplate::Lookup& lookup) {
  Event& event = *admission.event;
  const core::Stream& stream = *event.stream;
  if (auto rendered = stream.key.render(lookup)) {
    event.key = core::booking_key(stream.id, *rendered);
    return;
  }
  admission.default_key = true;
  event.key = default_key(stream);
  if (stream.on_missing_key == core::StreamMissingKey::dead_letter) {
    refuse(admission, reasons::kMissingKey,
           "a name of the key template \"" + stream.key.text() + "\" has no value in this event");
  }
}

void render_cost(Admission& admission, const core::KeyTemplate::Lookup& lookup) {
  Event& event = *admission.event;
  if (!event.stream->cost) return;
  const auto text = event.stream->cost->render_plain(lookup);
  const auto cost = text ? whole_number<core::Units>(*text) : std::nullopt;
  if (cost && *cost >= 1) {
    event.cost = *cost;
  } else if (admission.reason.empty()) {
    refuse(admission, reasons::kInvalidCost,
           "the cost template \"" + event.stream->cost->text() + "\" must give a whole number of at least 1");
  }
}

}  // namespace

std::string default_key(const core::Stream& stream) {
  // No value renders as this: '*' is escaped in values (core/counter_key.h).
  return core::booking_key(stream.id, "*");
}

Admission Intake::admit(const core::StreamPtr& stream, broker::Message message) {
  Admission admission;
  admission.event = std::make_shared<Event>();
  Event& event = *admission.event;
  event.stream = stream;
  event.original = std::move(message);
  const Given given = take_reserved(event.original.attributes);
  event.hops = given.hops;
  event.digest = body_digest(event.original.body);
  if (event.original.published != WallTime{}) event.first_received = event.original.published;

  EventFacts facts(event.original, json_);
  const core::KeyTemplate::Lookup lookup = [&facts](std::string_view name) { return facts.find(name); };
  event.id = event_id(given.id, *stream, lookup);
  if (event.id.empty()) event.id = event.original.id;
  render_key(admission, lookup);
  render_cost(admission, lookup);
  if (facts.payload() != JsonCheck::document) {
    const std::string is = facts.payload() == JsonCheck::too_deep
                               ? "JSON nested deeper than " + std::to_string(kJsonDepthMax) + " levels"
                               : "not JSON";
    refuse(admission, reasons::kMalformedPayload,
           "the payload is " + is + ", and a template of the stream needs a name from it");
  }
  if (event.hops > kHopsMax) {
    refuse(admission, reasons::kTooManyHops,
           "it went through " + std::to_string(event.hops) + " sinks, at most " + std::to_string(kHopsMax) +
               ": a circle of topics");
  }
  return admission;
}

}  // namespace dripgate::drip
