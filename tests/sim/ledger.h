// Ledger: what the store really let go, seen at its port, and the checks on it: no window ever holds more
// than the limit in force, nobody goes during a freeze, the horizon is kept to the microsecond.
// RecordingStore sits directly on the store under test, below every fault.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/booking_store.h"

namespace dripgate::sim {

struct Charge {
  WallTime at;
  core::Units cost = 0;
  std::string event_id;
  std::uint32_t generation = 0;
  core::BookingPolicyPtr policy;
  bool staged = true;  // in a turn that is not durable yet
};

class Ledger {
 public:
  /// Faults found so far, one sentence each.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  void fault(std::string what) {
    if (faults_.size() < 5) faults_.push_back(std::move(what));
  }

  /// A line of the story that `--seed=N` tells.
  void note(const std::string& line) const {
    if (narrate) narrate(line);
  }
  std::function<void(const std::string&)> narrate;

  void charge(const std::string& key, Charge charge);
  void freeze(const std::string& key, WallTime until);
  void check_horizon(bool accepted, WallTime slot, WallTime first, const core::BookingPolicy& policy,
                     const std::string& event_id);
  /// Slots that are booked, for the check that no newcomer passes them.
  void booked(const std::string& key, const std::string& event_id, WallTime slot);
  void unbooked(const std::string& key, const std::string& event_id);
  void newcomer_passed(const std::string& key, const std::string& event_id, WallTime now);
  /// The turn is durable; the turn is lost.
  void commit();
  void roll_back();

  /// A release of before that goes again inside its window: no new charge. A further delivery after some
  /// generation is another release even at the same instant.
  [[nodiscard]] bool has(const std::string& key, const std::string& event_id, WallTime at,
                         std::optional<std::uint32_t> after_generation) const;
  /// How many releases with this stamp (milliseconds) were durably charged to this event? Nothing may leave
  /// before the turn that let it go is durable.
  [[nodiscard]] std::size_t releases(const std::string& key, const std::string& event_id,
                                     WallTime released_ms) const;
  [[nodiscard]] int charges(const std::string& event_id) const;

 private:
  void check_limit(const std::string& key, const core::Limit& limit, std::size_t index);

  struct Key {
    std::vector<Charge> charges;
    WallTime frozen_until = kLongAgo;
    WallTime frozen_staged = kLongAgo;
    std::map<std::string, WallTime> slots;          // event id -> booked slot
    std::map<std::string, WallTime> durable_slots;  // ... as of the last durable turn
  };
  std::map<std::string, Key> keys_;
  std::vector<std::string> faults_;
};

class RecordingStore final : public store::BookingStore {
 public:
  RecordingStore(store::BookingStore& inner, Ledger& ledger) : inner_(inner), ledger_(ledger) {}

  void reserve(store::ReserveRequest request, Done<core::ReserveAnswer> done) override;
  void gate(store::GateRequest request, Done<core::GateAnswer> done) override;
  void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> answered) override {
    ledger_.note("done " + event_id + " g" + std::to_string(generation));
    inner_.done(std::move(key), std::move(event_id), generation, std::move(answered));
  }
  void release(std::string key, std::string event_id, std::uint32_t generation, core::BookingPolicyPtr policy,
               Done<void> done) override {
    ledger_.unbooked(key, event_id);
    inner_.release(std::move(key), std::move(event_id), generation, std::move(policy), std::move(done));
  }
  void freeze(std::string key, WallTime until, Done<void> done) override {
    ledger_.note("freeze " + key);
    ledger_.freeze(key, until);
    inner_.freeze(std::move(key), until, std::move(done));
  }
  void thaw(std::string key, Done<void> done) override { inner_.thaw(std::move(key), std::move(done)); }
  void reset(std::string key, Done<void> done) override { inner_.reset(std::move(key), std::move(done)); }
  void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) override {
    inner_.inspect(std::move(key), std::move(policy), std::move(done));
  }

 private:
  void seen(const store::ReserveRequest& request, const core::ReserveAnswer& answer);
  void seen(const store::GateRequest& request, const core::GateAnswer& answer);

  store::BookingStore& inner_;
  Ledger& ledger_;
};

}  // namespace dripgate::sim
