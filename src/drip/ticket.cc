#include "drip/ticket.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "broker/attribute_names.h"
#include "broker/claims.h"
#include "drip/enrich.h"
#include "drip/names.h"

namespace dripgate::drip {
namespace {

constexpr std::string_view kKind = "dripgate-ticket";
// The names of a delivery (broker/attribute_names.h) where both say the same; a ticket's times are
// microseconds.
constexpr std::string_view kId = broker::kIdAttribute;
constexpr std::string_view kStream = broker::kStreamAttribute;
constexpr std::string_view kKey = "dripgate-booking-key";
constexpr std::string_view kDigest = "dripgate-digest";
constexpr std::string_view kCost = "dripgate-cost";
constexpr std::string_view kGeneration = "dripgate-generation";
constexpr std::string_view kSlot = "dripgate-slot-us";
constexpr std::string_view kReleased = "dripgate-released-us";
constexpr std::string_view kFirstReceived = "dripgate-first-received-us";
constexpr std::string_view kAttempts = "dripgate-attempts";
constexpr std::string_view kDeferrals = "dripgate-deferrals";
constexpr std::string_view kMessageId = "dripgate-message-id";
constexpr std::string_view kOverflowTopic = "dripgate-overflow-topic";
constexpr std::string_view kPayloadBytes = "dripgate-payload-bytes";  // absent: the body is the original

constexpr std::array<std::string_view, 3> kKinds{"gate", "retry", "overflow"};

class Reader {
 public:
  explicit Reader(const broker::Attributes& attributes) : attributes_(attributes) {}

  std::string text(std::string_view name) {
    if (const std::string* value = broker::find(attributes_, name)) return *value;
    wrong(name, "is missing");
    return {};
  }
  template <class Number>
  Number number(std::string_view name, Number least) {
    const std::string value = text(name);
    Number parsed{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc{} || end != value.data() + value.size() || parsed < least) {
      wrong(name, "'" + value + "' is not a whole number in range");
    }
    return parsed;
  }
  WallTime time(std::string_view name) { return from_us(number<std::int64_t>(name, to_us(kLongAgo))); }
  [[nodiscard]] bool has(std::string_view name) const { return broker::find(attributes_, name) != nullptr; }
  void wrong(std::string_view name, std::string_view what) {
    if (fault_.empty()) fault_ = std::string(name) + " " + std::string(what);
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  const broker::Attributes& attributes_;
  std::string fault_;
};

TicketKind read_kind(Reader& reader) {
  const std::string text = reader.text(kKind);
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (text == kKinds[i]) return static_cast<TicketKind>(i);
  }
  reader.wrong(kKind, "'" + text + "' is none of gate, retry, overflow");
  return TicketKind::gate;
}

void read_booking(Reader& reader, Event& event) {
  event.id = reader.text(kId);
  event.key = reader.text(kKey);
  event.digest = reader.number<std::uint64_t>(kDigest, 0);
  event.cost = reader.number<core::Units>(kCost, 1);
  event.generation = reader.number<std::uint32_t>(kGeneration, 0);
  event.slot = reader.time(kSlot);
  event.released = reader.time(kReleased);
  event.first_received = reader.time(kFirstReceived);
  event.attempts = reader.number<int>(kAttempts, 0);
  event.deferrals = reader.number<int>(kDeferrals, 0);
  event.hops = reader.number<int>(broker::kHopsAttribute, 0);
}

void check_home(Reader& reader, const Event& event) {
  const core::Stream& stream = *event.stream;
  if (reader.text(kStream) != stream.id) reader.wrong(kStream, "is not '" + stream.id + "'");
  if (reader.text(kOverflowTopic) != stream.overflow_topic) {
    reader.wrong(kOverflowTopic, "is not '" + stream.overflow_topic + "'");
  }
  if (!event.key.starts_with(stream.id + ":")) reader.wrong(kKey, "does not start with the stream's id");
}

}  // namespace

broker::Message write_ticket(const Event& event, TicketKind kind, std::size_t deciding_limit,
                             JsonPayload& json) {
  broker::Message message{.id = {}, .body = {}, .attributes = event.original.attributes, .published = {}};
  const auto put = [&message](std::string_view name, std::string value) {
    message.attributes.emplace_back(name, std::move(value));
  };
  put(kKind, std::string(kKinds[static_cast<std::size_t>(kind)]));
  put(kId, event.id);
  put(kStream, event.stream->id);
  put(kKey, event.key);
  put(kDigest, std::to_string(event.digest));
  put(kCost, std::to_string(event.cost));
  put(kGeneration, std::to_string(event.generation));
  put(kSlot, std::to_string(to_us(event.slot)));
  put(kReleased, std::to_string(to_us(event.released)));
  put(kFirstReceived, std::to_string(to_us(event.first_received.value_or(event.slot))));
  put(kAttempts, std::to_string(event.attempts));
  put(kDeferrals, std::to_string(event.deferrals));
  put(broker::kHopsAttribute, std::to_string(event.hops));
  put(kMessageId, event.original.id);
  put(kOverflowTopic, event.stream->overflow_topic);
  if (auto enriched = enrich(event, deciding_limit, json)) {
    put(kPayloadBytes, std::to_string(event.original.body.size()));
    message.body = *std::move(enriched);
  } else {
    message.body = event.original.body;
  }
  return message;
}

Result<Opened> read_ticket(broker::Message message, const core::StreamPtr& stream, JsonPayload& json) {
  Reader reader(message.attributes);
  Opened opened{.event = std::make_shared<Event>(), .kind = read_kind(reader)};
  Event& event = *opened.event;
  event.stream = stream;
  read_booking(reader, event);
  check_home(reader, event);
  event.original.id = reader.text(kMessageId);
  const bool enriched = reader.has(kPayloadBytes);
  const auto payload_bytes = enriched ? reader.number<std::size_t>(kPayloadBytes, 0) : 0;
  if (!reader.fault().empty()) return fail(ErrorCode::corrupt, reader.fault());

  // An overflow topic may be written by others, and has no claims: there the mark says nothing.
  const std::string* lost = broker::find(message.attributes, broker::kClaimLostAttribute);
  if (lost != nullptr && opened.kind != TicketKind::overflow) {
    event.lost = *lost;
  } else if (enriched) {
    auto original = restore(message.body, payload_bytes, stream->overflow_topic, json);
    if (!original) return std::unexpected(original.error());
    event.original.body = *std::move(original);
  } else {
    event.original.body = std::move(message.body);
  }
  event.original.attributes = std::move(message.attributes);
  std::erase_if(event.original.attributes,
                [](const auto& attribute) { return broker::is_reserved(attribute.first); });
  if (event.lost.empty() && body_digest(event.original.body) != event.digest) {
    return fail(ErrorCode::corrupt, "dripgate-digest is not that of the original payload");
  }
  return opened;
}

store::Ticket store_ticket(const Event& event) {
  return {.key = event.key,
          .event_id = event.id,
          .body_digest = event.digest,
          .generation = event.generation,
          .slot = event.slot,
          .cost = event.cost,
          .first_received = event.first_received.value_or(event.slot)};
}

}  // namespace dripgate::drip
