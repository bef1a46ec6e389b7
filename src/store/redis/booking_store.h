// RedisBookingStore: the BookingStore port on Redis. The scripts are core transcribed (src/store/redis/lua):
// the same answers to the microsecond. Made by redis/stores.h. Single-threaded: the client's loop.
#pragma once

#include <string>

#include "base/guard.h"
#include "redis/client.h"
#include "store/booking_store.h"
#include "store/redis/booking_routes.h"
#include "store/redis/stores.h"

namespace dripgate::store {

class RedisBookingStore final : public BookingStore {
 public:
  RedisBookingStore(redis::Client& client, const RedisBookingOptions& options);

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
  /// One script about one key's row; `argument` may be empty. The view in the answer lives during the call.
  void ask_key(const redis::Script& script, const std::string& key, const std::string& argument,
               Done<wire::KeyAnswer> done);
  void ask_key(const redis::Script& script, const std::string& key, const std::string& argument,
               Done<void> done);

  redis::Client& client_;
  BookingRoutes routes_;
  Guard guard_;  // last: what is under way when this ends is never heard
};

}  // namespace dripgate::store
