// Intake: what one message from the source is: its event id, booking key and cost, rendered by the stream's
// templates; or why it cannot be an event. Called by source_lane and replay. No I/O; on the executor.
#pragma once

#include <string>
#include <string_view>

#include "broker/message.h"
#include "drip/event.h"
#include "drip/json_payload.h"

namespace dripgate::drip {

/// Letters of events that never had a booking: their replay starts at intake.
inline constexpr std::uint32_t kNoGeneration = 0xffffffff;

struct Admission {
  EventPtr event;           // as far as it could be rendered
  std::string_view reason;  // empty: admitted; else one of drip/reasons.h
  std::string detail;
  bool default_key = false;  // the key had a missing part: the stream's shared bucket
};

class Intake {
 public:
  [[nodiscard]] Admission admit(const core::StreamPtr& stream, broker::Message message);

 private:
  JsonPayload json_;
};

/// The bucket that all events without a key share.
[[nodiscard]] std::string default_key(const core::Stream& stream);

}  // namespace dripgate::drip
