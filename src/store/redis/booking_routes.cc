#include "store/redis/booking_routes.h"

#include <chrono>
#include <utility>

#include "store/booking_calls.h"
#include "store/redis/lua/texts.h"

namespace dripgate::store {
namespace {

const redis::Script kClaim{lua::claim};

/// Keys that one call may be sent on to: each step means that somebody else moved the id meanwhile.
constexpr int kHopsMax = 4;
/// A claim outlives the record that it leads to: what a record is kept beyond its slot, and late timers.
constexpr Duration kClaimMargin = std::chrono::hours{24} + std::chrono::minutes{10};

enum : std::uint8_t { kOnlyKnown = 4 };                // of event items
enum : std::uint8_t { kSetClaim = 1, kTakeOver = 2 };  // of claim items

std::uint32_t claim_seconds(const core::BookingPolicy* policy) {
  if (policy == nullptr) return 0;
  return static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(policy->max_delay + policy->id_retention + kClaimMargin)
          .count());
}

}  // namespace

struct BookingRoutes::Journey {
  EventCall call;
  EventField id;
  KeyTag own;
  KeyTag former{};  // had the claim, and knew nothing of the id
  bool claim_asked = false;
  int hops = 0;
};

void BookingRoutes::ask(EventCall call) {
  auto id = BookingNames::field_of(call.event_id);
  auto own = BookingNames::tag_of(call.key);
  const auto journey =
      std::make_shared<Journey>(Journey{.call = std::move(call), .id = std::move(id), .own = std::move(own)});
  if (names_.partitions() == 1) return ask_key(journey, journey->own, false);
  // A booking is claimed before it is made; whoever fires or settles it mostly knows where it is.
  if (journey->call.kind == EventCall::Kind::books) return ask_claim(journey);
  ask_key(journey, journey->own, true);
}

void BookingRoutes::ask_key(const JourneyPtr& journey, const KeyTag& tag, bool only_known) {
  const EventCall& call = journey->call;
  if (++journey->hops > kHopsMax)
    return journey->call.done(
        fail(ErrorCode::unavailable, "redis: event id '" + call.event_id + "' moves from key to key", true));
  const std::string place = names_.place(stream_of(call.key), names_.partition_of(tag));
  BookingItem item{.script = call.script,
                   .place = place,
                   .flags = static_cast<std::uint8_t>(call.flags | (only_known ? kOnlyKnown : 0)),
                   .policy = call.policy,
                   .row = {},
                   .tag = tag,
                   .bucket = BookingNames::events(place, journey->id),
                   .rest = call.rest,
                   .field = journey->id.field,
                   .extra = call.extra,
                   .done = {}};
  if (call.kind != EventCall::Kind::settles) item.row = BookingNames::row(place, tag);
  if (call.kind == EventCall::Kind::books) item.since = BookingNames::since(place);
  item.done = guard_.wrap([this, journey, only_known](Result<wire::ItemAnswer> answer) {
    heard(journey, only_known, std::move(answer));
  });
  batches_.add(std::move(item));
}

void BookingRoutes::heard(const JourneyPtr& journey, bool only_known, Result<wire::ItemAnswer> answer) {
  if (answer && answer->code == wire::kMoved) return ask_key(journey, answer->owner, only_known);
  const bool unknown = answer && answer->code == wire::kUnknown;
  if (!unknown || (journey->claim_asked && (journey->call.kind == EventCall::Kind::settles ||
                                            journey->call.kind == EventCall::Kind::returns)))
    return journey->call.done(std::move(answer));
  ask_claim(journey);
}

void BookingRoutes::ask_claim(const JourneyPtr& journey) {
  const EventCall& call = journey->call;
  const std::string place = names_.place(stream_of(call.key), names_.claims_of(journey->id));
  const bool claims = call.kind == EventCall::Kind::books || call.kind == EventCall::Kind::fires;
  std::uint8_t flags = claims ? kSetClaim : 0;
  if (claims && !journey->former.empty()) flags |= kTakeOver;
  journey->claim_asked = true;
  wire::Packer rest;
  rest.number32(claim_seconds(claims ? call.policy.get() : nullptr)).bytes(journey->own);
  rest.bytes(journey->former.empty() ? journey->own : journey->former);
  batches_.add(BookingItem{.script = &kClaim,
                           .place = place,
                           .flags = flags,
                           .policy = nullptr,
                           .row = {},
                           .tag = {},
                           .bucket = BookingNames::claims(place, journey->id),
                           .rest = rest.take(),
                           .field = journey->id.field,
                           .extra = {},
                           .done = guard_.wrap([this, journey](Result<wire::ItemAnswer> answer) {
                             if (!answer) return journey->call.done(std::unexpected(answer.error()));
                             claimed(journey, *answer);
                           })});
}

void BookingRoutes::claimed(const JourneyPtr& journey, const wire::ItemAnswer& answer) {
  if (answer.code != wire::kMoved) {
    const bool effect =
        journey->call.kind == EventCall::Kind::books || journey->call.kind == EventCall::Kind::fires;
    if (effect) return ask_key(journey, journey->own, false);
    return journey->call.done(wire::ItemAnswer{});
  }
  // Another key's. If that key knows nothing of it (any more), it is ours; but whoever claimed it a moment
  // ago may not have booked it yet, and books the same event.
  const bool young = answer.limit.has_value();
  journey->former = answer.owner;
  ask_key(journey, answer.owner, !(young && journey->call.kind == EventCall::Kind::books));
}

}  // namespace dripgate::store
