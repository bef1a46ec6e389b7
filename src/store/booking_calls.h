// Every call of the BookingStore port as a function on rows that a backend has loaded: what is absent, what
// is expired and until when a row is kept is decided here once, so that backends cannot differ. Called by
// memory/ and sqlite/ inside their own atomic section. Pure: no I/O, no clock, no threads.
#pragma once

#include <optional>
#include <string_view>

#include "core/booking.h"
#include "store/booking_store.h"

namespace dripgate::store {

/// A booking key as stored. Expired means absent, whether or not the row was removed already.
struct KeyRow {
  core::KeyState state{};
  WallTime expires = kLongAgo;
};

/// An event record as stored.
struct EventRow {
  std::optional<core::EventRecord> record;
  WallTime expires = kLongAgo;
};

/// The stream a booking key belongs to: what stands before its first ':'. An event id is unique within it,
/// and stays with the key it was first booked under: the same id under another key finds that record.
[[nodiscard]] inline std::string_view stream_of(std::string_view key) {
  return key.substr(0, key.find(':'));
}

/// What of the rows must be stored again.
struct RowChanges {
  bool key = false;
  bool event = false;
};

namespace calls {

[[nodiscard]] Result<core::ReserveAnswer> reserve(KeyRow& key, EventRow& event, const ReserveRequest& request,
                                                  WallTime now, RowChanges& changes);
[[nodiscard]] Result<core::GateAnswer> gate(KeyRow& key, EventRow& event, const GateRequest& request,
                                            WallTime now, RowChanges& changes);
void settle(EventRow& event, std::uint32_t generation, WallTime now, RowChanges& changes);
void release(KeyRow& key, EventRow& event, const core::BookingPolicy& policy, std::uint32_t generation,
             WallTime now, RowChanges& changes);
void freeze(KeyRow& key, WallTime until, WallTime now, RowChanges& changes);
void thaw(KeyRow& key, WallTime now, RowChanges& changes);
void reset(KeyRow& key, WallTime now, RowChanges& changes);
[[nodiscard]] core::KeyView inspect(const KeyRow& key, const core::BookingPolicy& policy, WallTime now);

/// What core cannot say: there is a policy with limits. Error: invalid_argument.
[[nodiscard]] Result<void> check(const core::BookingPolicyPtr& policy);

}  // namespace calls
}  // namespace dripgate::store
