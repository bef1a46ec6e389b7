// One connection to an embedded file with its broker, as the tests of this room use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/sqlite/broker.h"
#include "support/crash_vfs.h"
#include "support/virtual_time.h"

namespace dripgate::broker::sqlite {

using dripgate::sqlite::Database;
using dripgate::testing::CrashVfs;
using dripgate::testing::kT0;
using dripgate::testing::SimExecutor;
using dripgate::testing::VirtualClock;

inline Message message(std::string id, std::string body = "body") {
  return {std::move(id), std::move(body), {{"name", "value"}}, {}};
}

/// One connection with its broker; several may share a CrashVfs.
struct Side {
  Side(CrashVfs& vfs, SimExecutor& executor, VirtualClock& clock)
      : database(Database::open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0, .busy_wait = Duration{0}})
                     .value()),
        broker(*database, executor, clock) {}
  bool end_turn() { return database->end_turn().has_value(); }

  std::unique_ptr<Database> database;
  Broker broker;
};

class SqliteBroker : public ::testing::Test {
 protected:
  bool publish(Side& side, const std::string& topic, Message what) {
    bool done = false;
    side.broker.publisher(topic)->publish(std::move(what),
                                          [&](Result<void> result) { done = result.has_value(); });
    return done;
  }
  std::unique_ptr<EventSource> listen(Side& side, const std::string& topic, std::vector<Delivery>& got) {
    auto source = side.broker.source(topic);
    source->start({}, [&got](Delivery delivery) { got.push_back(std::move(delivery)); });
    return source;
  }

  CrashVfs vfs_;
  VirtualClock clock_;
  SimExecutor executor_{clock_};
};

}  // namespace dripgate::broker::sqlite
