// The product's adapter on a Pub/Sub: our own fake, or Google's emulator where it is installed. Each test has
// topics and subscriptions of its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broker/pubsub/broker.h"
#include "broker/pubsub/connect.h"
#include "broker/pubsub/start_checks.h"
#include "integration/process.h"
#include "runtime/loop.h"
#include "runtime/real_clock.h"
#include "support/gcp/pubsub_fake.h"

namespace dripgate::integration {

using namespace std::chrono_literals;
namespace pubsub = broker::pubsub;

inline constexpr const char* kProject = "test-project";
/// How much faster time runs on the fake, for the adapter and for its leases.
inline constexpr int kFakeScale = 10;

class Server {
 public:
  virtual ~Server() = default;
  [[nodiscard]] virtual std::string endpoint() const = 0;
  [[nodiscard]] virtual int scale() const = 0;
  [[nodiscard]] virtual testing::PubsubFake* fake() { return nullptr; }
  /// Messages that it hands out in a reasonable time.
  [[nodiscard]] virtual int burst() const { return 3000; }
};

/// Empty: it is not here, `why` says so.
using MakeServer = std::function<std::unique_ptr<Server>(std::string& why)>;
std::unique_ptr<Server> make_fake(std::string& why);
/// For processes of ours: its leases are as long as they say.
std::unique_ptr<Server> make_real_time_fake();
/// One process for the whole program.
std::unique_ptr<Server> make_emulator(std::string& why);
/// Google's pstest, built by `./dev test` where there is a Go.
std::unique_ptr<Server> make_pstest(std::string& why);
/// "ran on: ..." at the end of the program.
void note_run(const std::string& what);
void note_skip(const std::string& what, const std::string& why);

/// One process of ours: a loop, a connection, a broker on it.
class Side {
 public:
  explicit Side(Server& server, const std::string& instance = "one");
  ~Side();

  /// Runs on the loop and waits.
  void run(Task task) { ASSERT_TRUE(loop.run(std::move(task))); }
  Result<void> make(const std::string& topic, const std::string& subscription);
  /// As make, with exactly-once delivery. False: the server has none.
  bool make_exactly_once(const std::string& topic, const std::string& subscription);
  /// Publishes and waits until all are confirmed.
  void publish(const std::string& topic, std::vector<broker::Message> messages);

  const std::string endpoint;
  runtime::Loop loop;
  runtime::ScaledClock clock;
  std::unique_ptr<pubsub::Admin> admin;
  std::unique_ptr<pubsub::Broker> broker;  // on the loop
};

/// A source with what it delivered. Acks at once unless told otherwise.
class Taker {
 public:
  using Handle = std::function<void(Taker&, broker::Delivery&)>;
  Taker(Side& side, const std::string& subscription, broker::FlowControl flow = {}, Handle handle = {},
        int streams = 1);
  ~Taker();

  /// On the loop, or from it.
  void ack(std::uint64_t token, std::function<void(const Result<void>&)> told = {});
  void lapse(std::uint64_t token) { source_->lapse(token); }
  void pause(bool on);

  [[nodiscard]] std::vector<broker::Delivery> got() const;
  [[nodiscard]] std::set<std::string> acked() const;  // bodies whose ack was confirmed
  [[nodiscard]] std::size_t out_max() const;

 private:
  Side& side_;
  Handle handle_;
  std::unique_ptr<broker::EventSource> source_;
  mutable std::mutex mutex_;
  std::vector<broker::Delivery> got_;
  std::set<std::string> acked_;
  std::map<std::uint64_t, std::string> bodies_;  // out, unsettled
  std::size_t out_max_ = 0;
};

}  // namespace dripgate::integration
