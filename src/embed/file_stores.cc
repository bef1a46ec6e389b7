#include "embed/file_stores.h"

#include <algorithm>
#include <utility>

#include "store/sqlite/stores.h"

namespace dripgate::embed {

Result<void> FileStores::open() {
  auto opened = sqlite::Database::open(path_, {.vfs = {}, .exclusive_owner = true});
  if (!opened) return std::unexpected(opened.error());
  database_ = std::move(*opened);
  counters_ = store::make_sqlite_counter_store(*database_, clock_);
  bookings_ = store::make_sqlite_booking_store(*database_, clock_);
  vendors_ = store::make_sqlite_vendor_store(*database_, clock_);
  return {};
}

void FileStores::end_turn() {
  if (database_ == nullptr) return;
  const Result<void> committed = database_->end_turn();
  if (committed) {
    failures_ = 0;
    return;
  }
  // A full disk says no to this turn only: the connection is whole.
  if (committed.error().code == ErrorCode::full) return;
  vendors_.reset();
  bookings_.reset();
  counters_.reset();
  database_.reset();
  reopen();
}

void FileStores::reopen() {
  const Duration wait = std::min(kReopenWaitFirst * (1 << std::min(failures_++, 6)), kReopenWaitMax);
  loop_.post_after_real(wait, [this] {
    if (!open()) reopen();
  });
}

template <class T>
bool FileStores::works(Done<T>& done) {
  if (database_ != nullptr) return true;
  done(fail(ErrorCode::unavailable, "the database does not work right now", true));
  return false;
}

template <class T>
Done<T> FileStores::durable(Done<T> done) {
  return [this, done = std::move(done)](Result<T> result) mutable {
    if (!result) return done(std::move(result));
    database_->after_commit([done = std::move(done), result = std::move(result)](Result<void> lasts) mutable {
      lasts ? done(std::move(result)) : done(std::unexpected(lasts.error()));
    });
  };
}

void FileStores::Counters::consume(store::Charges charges, Done<core::Decision> done) {
  if (file.works(done)) file.counters_->consume(std::move(charges), file.durable(std::move(done)));
}

void FileStores::Counters::peek(store::Charges charges, Done<core::Decision> done) {
  if (file.works(done)) file.counters_->peek(std::move(charges), file.durable(std::move(done)));
}

void FileStores::Counters::refund(store::Refund refund, Done<bool> done) {
  if (file.works(done)) file.counters_->refund(std::move(refund), file.durable(std::move(done)));
}

void FileStores::Counters::reset(std::string key, Done<void> done) {
  if (file.works(done)) file.counters_->reset(std::move(key), file.durable(std::move(done)));
}

void FileStores::Counters::inspect(store::Charge charge, Done<store::CounterView> done) {
  if (file.works(done)) file.counters_->inspect(std::move(charge), file.durable(std::move(done)));
}

void FileStores::Bookings::reserve(store::ReserveRequest request, Done<core::ReserveAnswer> done) {
  if (file.works(done)) file.bookings_->reserve(std::move(request), file.durable(std::move(done)));
}

void FileStores::Bookings::gate(store::GateRequest request, Done<core::GateAnswer> done) {
  if (file.works(done)) file.bookings_->gate(std::move(request), file.durable(std::move(done)));
}

void FileStores::Bookings::done(std::string key, std::string event_id, std::uint32_t generation,
                                Done<void> done) {
  if (file.works(done))
    file.bookings_->done(std::move(key), std::move(event_id), generation, file.durable(std::move(done)));
}

void FileStores::Bookings::release(std::string key, std::string event_id, std::uint32_t generation,
                                   core::BookingPolicyPtr policy, Done<void> done) {
  if (file.works(done))
    file.bookings_->release(std::move(key), std::move(event_id), generation, std::move(policy),
                            file.durable(std::move(done)));
}

void FileStores::Bookings::freeze(std::string key, WallTime until, Done<void> done) {
  if (file.works(done)) file.bookings_->freeze(std::move(key), until, file.durable(std::move(done)));
}

void FileStores::Bookings::thaw(std::string key, Done<void> done) {
  if (file.works(done)) file.bookings_->thaw(std::move(key), file.durable(std::move(done)));
}

void FileStores::Bookings::reset(std::string key, Done<void> done) {
  if (file.works(done)) file.bookings_->reset(std::move(key), file.durable(std::move(done)));
}

void FileStores::Vendors::acquire(store::VendorAcquire call, Done<core::VendorGrant> done) {
  if (file.works(done)) file.vendors_->acquire(std::move(call), file.durable(std::move(done)));
}

void FileStores::Vendors::observe(store::VendorObserve call, Done<core::VendorEffect> done) {
  if (file.works(done)) file.vendors_->observe(std::move(call), file.durable(std::move(done)));
}

void FileStores::Vendors::inspect(std::string key, core::VendorPolicyPtr policy,
                                  Done<core::VendorView> done) {
  if (file.works(done))
    file.vendors_->inspect(std::move(key), std::move(policy), file.durable(std::move(done)));
}

void FileStores::Vendors::reset(std::string key, Done<void> done) {
  if (file.works(done)) file.vendors_->reset(std::move(key), file.durable(std::move(done)));
}

void FileStores::Bookings::inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) {
  if (file.works(done))
    file.bookings_->inspect(std::move(key), std::move(policy), file.durable(std::move(done)));
}

}  // namespace dripgate::embed
