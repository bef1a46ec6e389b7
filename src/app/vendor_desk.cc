#include "app/vendor_desk.h"

#include <utility>

#include "app/file_vendors.h"
#include "store/memory/stores.h"
#include "store/redis/stores.h"

namespace dripgate::app {

VendorDesk::VendorDesk(VendorDeskContext context)
    : context_(std::move(context)), local_(store::make_memory_vendor_store(context_.steady)) {
  if (context_.client != nullptr) {
    store_ = store::make_redis_vendor_store(*context_.client, context_.key_prefix);
  } else if (std::holds_alternative<config::SqliteStore>(context_.snapshot.get()->store)) {
    store_ = std::make_unique<FileVendors>(context_.io, context_.loop, context_.engine);
  } else {
    store_ = store::make_memory_vendor_store(context_.clock);
  }
  vendors_ = std::make_unique<vendor::Vendors>(
      vendor::VendorsContext{.vendors = [this] { return context_.snapshot.get()->vendors; },
                             .store = *store_,
                             .local = *local_,
                             .instances = context_.instances,
                             .clock = context_.steady,
                             .observer = *this});
}

VendorDesk::~VendorDesk() = default;

void VendorDesk::acquire(vendor::AcquireCall call, Done<vendor::Acquired> done) {
  vendors_->acquire(call, std::move(done));
}

void VendorDesk::observe(vendor::ObserveCall call, Done<vendor::Observed> done) {
  vendors_->observe(call, std::move(done));
}

void VendorDesk::inspect(const std::string& vendor, const core::Descriptor& attributes,
                         Done<vendor::VendorStatus> done) {
  vendors_->inspect(vendor, attributes, std::move(done));
}

void VendorDesk::freeze(const std::string& vendor, const core::Descriptor& attributes, Duration span,
                        Done<vendor::Operated> done) {
  vendors_->freeze(vendor, attributes, span, std::move(done));
}

void VendorDesk::thaw(const std::string& vendor, const core::Descriptor& attributes,
                      Done<vendor::Operated> done) {
  vendors_->thaw(vendor, attributes, std::move(done));
}

std::vector<std::string> VendorDesk::key_names(const std::string& vendor) const {
  for (const core::VendorPtr& known : context_.snapshot.get()->vendors)
    if (known->id == vendor) return known->key.names();
  return {};
}

void VendorDesk::on_acquire(const std::string& vendor, std::string_view word) {
  context_.metrics.gate().vendor_acquire(vendor, word);
}

void VendorDesk::on_observe(const std::string& vendor, const vendor::Observed& seen) {
  obs::GateMetrics& metrics = context_.metrics.gate();
  metrics.vendor_answer(vendor, seen.refused ? "refused" : "other");
  for (const std::string& effect : seen.applied) metrics.vendor_effect(vendor, effect);
  for (int i = 0; i < seen.rubbish; ++i) metrics.vendor_effect(vendor, "unreadable");
}

}  // namespace dripgate::app
