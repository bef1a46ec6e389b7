// Bookings: what a Scheduler asks of the store: keys under its stream, the policy in force, answers as values
// of the library. Lives with the stores: called inside Host::enter.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/stream.h"
#include "dripgate/scheduler.h"
#include "embed/answer.h"
#include "store/booking_store.h"

namespace dripgate::embed {

/// Of a key; event ids: base/limits.h.
inline constexpr std::size_t kBookingKeyBytesMax = 1024;

class Bookings : public std::enable_shared_from_this<Bookings> {
 public:
  /// `booking`: the stream's policy in force; null: the config has no such stream any more.
  Bookings(store::BookingStore& store, std::string stream, std::function<core::BookingPolicyPtr()> booking)
      : store_(store), stream_(std::move(stream)), booking_(std::move(booking)) {}

  void reserve(const v1::ReserveRequest& request, std::uint64_t body_digest, Owed<v1::Reservation> owed);
  void gate(v1::Ticket ticket, Owed<v1::Firing> owed);
  void settle(const std::vector<v1::Ticket>& tickets, Owed<v1::Done> owed);
  void release(const v1::Ticket& ticket, Owed<v1::Done> owed);
  void freeze(const std::string& key, v1::TimePoint until, Owed<v1::Done> owed);
  void thaw(const std::string& key, Owed<v1::Done> owed);
  void inspect(const std::string& key, Owed<v1::KeyState> owed);

 private:
  [[nodiscard]] std::string key_of(const std::string& key) const { return core::booking_key(stream_, key); }
  /// The policy of a call; null: `owed` was told why there is none. `horizon` 0: the stream's.
  template <class T>
  core::BookingPolicyPtr policy(v1::Span horizon, Owed<T>& owed);

  store::BookingStore& store_;
  const std::string stream_;
  const std::function<core::BookingPolicyPtr()> booking_;
};

}  // namespace dripgate::embed
