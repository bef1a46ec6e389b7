// VendorStore in memory: one table under one lock; a call holds it for microseconds.
#include <mutex>
#include <unordered_map>
#include <utility>

#include "store/memory/stores.h"
#include "store/store_clock.h"

namespace dripgate::store {
namespace {

class MemoryVendorStore final : public VendorStore {
 public:
  MemoryVendorStore(Clock& clock, std::size_t keys_max) : clock_(clock), keys_max_(keys_max) {}

  void acquire(VendorAcquire call, Done<core::VendorGrant> done) override {
    done(change<core::VendorGrant>(
        call.key, *call.policy,
        [&](core::VendorState& state, WallTime now) {
          return core::acquire(state, *call.policy, call.costs, now);
        },
        [](const core::VendorGrant& grant) { return grant.allowed || grant.retry_after > Duration{0}; }));
  }

  void observe(VendorObserve call, Done<core::VendorEffect> done) override {
    done(change<core::VendorEffect>(
        call.key, *call.policy,
        [&](core::VendorState& state, WallTime now) {
          return core::observe(state, *call.policy, call.seen, now);
        },
        [](const core::VendorEffect&) { return true; }));
  }

  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override {
    const auto now = clock_.now();
    if (!now) return done(std::unexpected(now.error()));
    core::VendorState state;
    {
      const std::scoped_lock lock(mutex_);
      state = find(key, *now);
    }
    done(core::view(std::move(state), *policy, *now));
  }

  void reset(std::string key, Done<void> done) override {
    {
      const std::scoped_lock lock(mutex_);
      keys_.erase(key);
    }
    done({});
  }

 private:
  struct Row {
    core::VendorState state;
    WallTime expires;
  };

  [[nodiscard]] core::VendorState find(const std::string& key, WallTime now) const {
    const auto row = keys_.find(key);
    return row == keys_.end() || row->second.expires <= now ? core::VendorState{} : row->second.state;
  }

  template <class Answer, class Call, class Writes>
  Result<Answer> change(const std::string& key, const core::VendorPolicy& policy, Call call, Writes writes) {
    const auto now = clock_.now();
    if (!now) return std::unexpected(now.error());
    const std::scoped_lock lock(mutex_);
    core::VendorState state = find(key, *now);
    Result<Answer> answer = call(state, *now);
    if (!answer || !writes(*answer)) return answer;
    if (!keys_.contains(key) && keys_.size() >= keys_max_) {
      std::erase_if(keys_, [&](const auto& row) { return row.second.expires <= *now; });
      if (keys_.size() >= keys_max_)
        return fail(ErrorCode::full, "the memory store holds " + std::to_string(keys_max_) + " vendor keys",
                    true);
    }
    const WallTime expires = core::kept_until(state, policy);
    keys_.insert_or_assign(key, Row{std::move(state), expires});
    return answer;
  }

  StoreClock clock_;
  const std::size_t keys_max_;
  std::mutex mutex_;
  std::unordered_map<std::string, Row> keys_;
};

}  // namespace

std::unique_ptr<VendorStore> make_memory_vendor_store(Clock& clock, std::size_t keys_max) {
  return std::make_unique<MemoryVendorStore>(clock, keys_max);
}

}  // namespace dripgate::store
