// MemoryBookingStore: bookings in this process' memory, sliced by key over shards with one lock each.
// Made by memory/stores.h. Thread-safe; answers on the caller's thread, with no lock held.
#pragma once

#include <memory>
#include <vector>

#include "store/booking_store.h"
#include "store/memory/booking_shard.h"
#include "store/store_clock.h"

namespace dripgate::store {

class MemoryBookingStore final : public BookingStore {
 public:
  MemoryBookingStore(Clock& clock, std::size_t keys_max);

  void reserve(ReserveRequest request, Done<core::ReserveAnswer> done) override;
  void gate(GateRequest request, Done<core::GateAnswer> done) override;
  void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> done) override;
  void release(std::string key, std::string event_id, std::uint32_t generation, core::BookingPolicyPtr policy,
               Done<void> done) override;
  void freeze(std::string key, WallTime until, Done<void> done) override;
  void thaw(std::string key, Done<void> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) override;

 private:
  BookingShard& shard_of(std::uint64_t stream_hash);
  void make_room(WallTime now);
  template <class Answer, class Call>
  Result<Answer> with_room(WallTime now, Call call);

  StoreClock clock_;
  NameHash hash_;
  Quota keys_;
  Quota events_;
  std::vector<std::unique_ptr<BookingShard>> shards_;
};

}  // namespace dripgate::store
