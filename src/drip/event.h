// Event: one event in the hands of the drip, between the port that brought it (its carrier) and the durable
// yes that lets the carrier be acked. Made by intake (source; dead letters, for replay), read_ticket
// (timer, overflow topic) and endings (what is not understood); shared by the callbacks of one chain. On the
// executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "broker/message.h"
#include "core/stream.h"

namespace dripgate::drip {

/// Where the event durably is until what follows is durable.
struct Carrier {
  enum class Kind : std::uint8_t { source, timer, overflow, dead_letter };
  Kind kind = Kind::source;
  std::uint64_t token = 0;  // of the delivery or firing; dead_letter: its sequence
};

struct Event {
  core::StreamPtr stream;  // as configured when this carrier brought the event
  std::string id;
  std::string key;  // the booking key, starts with the stream's id
  std::uint64_t digest = 0;
  core::Units cost = 1;
  broker::Message original;  // exact bytes, the source's message id, attributes without dripgate-*

  std::optional<WallTime> first_received;  // empty: the store's now at the first reserve
  std::uint32_t generation = 0;            // of the booking that this carrier stands for
  WallTime slot;                           // planned; a release without a plan: the moment of release
  WallTime released;                       // when the store let it go
  int attempts = 0;                        // failed deliveries so far
  int deferrals = 0;                       // times the sink said 429
  int hops = 0;                            // sinks it went through before this stream

  Carrier carrier;
  bool told = false;       // its verdict went to the observer
  bool settled = false;    // acked or lapsed: the chain has ended
  bool give_back = false;  // once its letter is durable, its booking's units go back
  std::string lost;        // why its bytes are gone (broker/claims.h); empty: they are here
  int expiries = 0;        // releases in this chain whose window passed before the sink began to send
};
using EventPtr = std::shared_ptr<Event>;

/// The key as the stream's template renders it, without the stream's prefix: what people and sinks see.
/// Empty: it could not be rendered.
[[nodiscard]] inline std::string_view rendered_key(const Event& event) {
  return core::rendered_key(event.stream->id, event.key);
}

}  // namespace dripgate::drip
