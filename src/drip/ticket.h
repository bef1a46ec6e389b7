// Ticket codec: an event and its booking as a timer entry or overflow message, and back. The body is the
// enriched payload (enrich.h), the booking travels in attributes dripgate-*. Called by endings (write) and by
// dispatcher and overflow_consumer (read). Pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "broker/message.h"
#include "drip/event.h"
#include "drip/json_payload.h"
#include "store/booking_store.h"

namespace dripgate::drip {

enum class TicketKind : std::uint8_t {
  gate,      // fires at its slot, then the store is asked
  retry,     // fires when another delivery may be tried; nothing is booked ahead
  overflow,  // released: for the sink
};

struct Opened {
  EventPtr event;
  TicketKind kind = TicketKind::gate;
};

/// `deciding_limit`: index of the limit that decided the slot, for rateLimitMeta.
[[nodiscard]] broker::Message write_ticket(const Event& event, TicketKind kind, std::size_t deciding_limit,
                                           JsonPayload& json);

/// Errors: corrupt; the detail says what is wrong. A message that names another stream or overflow topic is
/// corrupt too. A timer's entry whose bytes are gone (broker/claims.h) gives an event without them: `lost`
/// says why.
[[nodiscard]] Result<Opened> read_ticket(broker::Message message, const core::StreamPtr& stream,
                                         JsonPayload& json);

/// What the gate takes as the reservation when the store was emptied.
[[nodiscard]] store::Ticket store_ticket(const Event& event);

}  // namespace dripgate::drip
