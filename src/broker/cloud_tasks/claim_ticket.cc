// ClaimTicket: see claim_ticket.h.
#include "broker/cloud_tasks/claim_ticket.h"

#include <utility>

#include "base/sha256.h"
#include "broker/claims.h"
#include "broker/cloud_tasks/task.h"

namespace dripgate::broker::cloud_tasks {
namespace {

constexpr std::string_view kClaimAttribute = "dripgate-claim";  // the digest
constexpr std::size_t kDigestDigits = 64;

// The digest belongs to the name: an entry that is written again may have other bytes (another policy
// version), while the task of the first try stays, and with it what that refers to.
ClaimTicket ticket_of(const TimerEntry& entry, std::string digest) {
  return {.id = task_id(entry.id) + "." + digest, .digest = std::move(digest)};
}

void forget(Attributes& attributes, std::string_view name) {
  std::erase_if(attributes, [name](const auto& attribute) { return attribute.first == name; });
}

}  // namespace

Claimed check_in(TimerEntry& entry) {
  Claimed claimed{.ticket = ticket_of(entry, sha256_hex(entry.message.body)),
                  .bytes = std::exchange(entry.message.body, {})};
  set(entry.message.attributes, kClaimAttribute, claimed.ticket.digest);
  return claimed;
}

std::optional<ClaimTicket> take_ticket(TimerEntry& entry) {
  forget(entry.message.attributes, kClaimLostAttribute);
  const std::string* digest = find(entry.message.attributes, kClaimAttribute);
  if (digest == nullptr) return {};
  // Of another length it is nobody's: no key of any size is made of it.
  ClaimTicket ticket = ticket_of(entry, digest->size() == kDigestDigits ? *digest : "damaged");
  forget(entry.message.attributes, kClaimAttribute);
  return ticket;
}

void check_out(TimerEntry& entry, const ClaimTicket& ticket, std::optional<std::string> bytes) {
  if (!bytes) return mark_lost(entry, "claim " + ticket.id + " is not there");
  if (sha256_hex(*bytes) != ticket.digest) return mark_lost(entry, "claim " + ticket.id + " is damaged");
  entry.message.body = *std::move(bytes);
}

void mark_lost(TimerEntry& entry, std::string why) {
  entry.message.body.clear();
  set(entry.message.attributes, kClaimLostAttribute, std::move(why));
}

}  // namespace dripgate::broker::cloud_tasks
