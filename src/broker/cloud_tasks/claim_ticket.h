// ClaimTicket: the reference that a task carries when its body lies in the claims. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/timer.h"

namespace dripgate::broker::cloud_tasks {

struct ClaimTicket {
  std::string id;      // among the claims of the stream: the task, then the digest of its bytes
  std::string digest;  // SHA-256, hex
};

/// Takes the body out of the entry and writes the reference to it into its attributes.
struct Claimed {
  ClaimTicket ticket;
  std::string bytes;
};
[[nodiscard]] Claimed check_in(TimerEntry& entry);

/// The reference of a fired entry, which forgets it; empty: it carries its body itself. Whatever it says of a
/// lost claim is not believed.
[[nodiscard]] std::optional<ClaimTicket> take_ticket(TimerEntry& entry);

/// The bytes go back into the entry; absent or of another digest, it is marked as lost.
void check_out(TimerEntry& entry, const ClaimTicket& ticket, std::optional<std::string> bytes);
void mark_lost(TimerEntry& entry, std::string why);

}  // namespace dripgate::broker::cloud_tasks
