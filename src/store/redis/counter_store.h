// RedisCounterStore: the port over coalescer, counter_groups and counter_scripts. Made by redis/stores.h.
// Single-threaded, on the client's loop.
#pragma once

#include "store/redis/coalescer.h"
#include "store/redis/counter_groups.h"
#include "store/redis/counter_scripts.h"

namespace dripgate::store {

class RedisCounterStore final : public CounterStore {
 public:
  RedisCounterStore(redis::Client& client, RedisStoreOptions options)
      : scripts_(client, std::move(options)), groups_(scripts_), coalescer_(scripts_) {}

  void consume(Charges charges, Done<core::Decision> done) override;
  void peek(Charges charges, Done<core::Decision> done) override;
  void refund(Refund refund, Done<bool> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(Charge charge, Done<CounterView> done) override;

 private:
  CounterScripts scripts_;
  CounterGroups groups_;
  Coalescer coalescer_;
};

}  // namespace dripgate::store
