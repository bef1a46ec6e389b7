// FileVendors: vendor keys of the embedded file for a caller on another loop: every call is a task on the
// drip loop, is answered once its turn is committed, and has a deadline (file_counters.h). Single-threaded on
// the caller's loop; destroyed after both loops have stopped.
#pragma once

#include <functional>

#include "app/engine.h"
#include "net/io_loop.h"
#include "store/vendor_store.h"

namespace dripgate::app {

class FileVendors final : public store::VendorStore {
 public:
  FileVendors(net::IoLoop& home, runtime::Loop& loop, Engine& engine)
      : home_(home), loop_(loop), engine_(engine) {}

  void acquire(store::VendorAcquire call, Done<core::VendorGrant> done) override;
  void observe(store::VendorObserve call, Done<core::VendorEffect> done) override;
  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override;
  void reset(std::string key, Done<void> done) override;

 private:
  template <class T>
  void ask(Done<T> done, std::move_only_function<void(store::VendorStore&, Done<T>)> question);

  net::IoLoop& home_;
  runtime::Loop& loop_;
  Engine& engine_;
};

}  // namespace dripgate::app
