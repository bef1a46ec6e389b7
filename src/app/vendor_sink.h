// VendorSink: an HTTP sink whose deliveries are calls to a vendor: each acquires from the vendor's shared
// bucket first, and tells it the answer. What has no room waits in the timer (SinkVerdict::not_yet): no
// attempt, and no 429. On the drip loop.
#pragma once

#include <memory>
#include <string>

#include "app/vendor_desk.h"
#include "base/guard.h"
#include "broker/sink.h"
#include "runtime/loop.h"

namespace dripgate::app {

/// A delivery that finds the vendor's store closed is tried again after this.
inline constexpr Duration kVendorStoreWait = 1s;

class VendorSink final : public broker::Sink {
 public:
  VendorSink(std::string vendor, VendorDesk& desk, runtime::Loop& home, const Clock& clock,
             broker::Sink& inner)
      : vendor_(std::move(vendor)), desk_(desk), home_(home), clock_(clock), inner_(inner) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

 private:
  using Finished = std::move_only_function<void(broker::SinkAnswer)>;
  void granted(broker::Outgoing outgoing, core::Descriptor attributes,
               const Result<vendor::Acquired>& acquired, Finished done);
  void answered(core::Descriptor attributes, std::string id, broker::SinkAnswer answer, Finished done);

  std::string vendor_;
  VendorDesk& desk_;
  runtime::Loop& home_;
  const Clock& clock_;
  broker::Sink& inner_;
  Guard guard_;  // last
};

}  // namespace dripgate::app
