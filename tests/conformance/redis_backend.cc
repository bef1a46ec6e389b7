#include "conformance/redis_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "conformance/limits.h"
#include "net/io_loop_impl.h"
#include "redis/make_client.h"
#include "store/redis/booking_names.h"
#include "store/redis/stores.h"
#include "support/redis/redis_cluster.h"

namespace dripgate::testing {
namespace {

constexpr Duration kPatience = 10s;

/// Hash tags of a stream on the cluster: its keys lie on all primaries, and the keys of the tests that step
/// the clock back for a key that was never seen lie on one (what a primary's clock said is remembered by
/// primary).
constexpr std::size_t kPartitions = 13;

/// Three primaries; DRIPGATE_CLUSTER=4+4 asks for as many primaries and replicas.
struct ClusterSize {
  std::size_t primaries = 3, replicas = 0;
};
ClusterSize cluster_size() {
  ClusterSize size;
  const char* asked = std::getenv("DRIPGATE_CLUSTER");
  if (asked == nullptr) return size;
  if (std::sscanf(asked, "%zu+%zu", &size.primaries, &size.replicas) != 2 || size.primaries < 3 ||
      size.replicas % size.primaries != 0)
    throw std::runtime_error("DRIPGATE_CLUSTER=" + std::string(asked) +
                             "; accepted: PRIMARIES+REPLICAS, at least 3, as many replicas for each");
  return size;
}

/// Servers are kept for the tests of this program that follow: emptied, they are as new.
class Servers {
 public:
  explicit Servers(bool cluster) {
    const ClusterSize size = cluster_size();
    if (cluster)
      cluster_ = std::make_unique<RedisCluster>(size.primaries, size.replicas / size.primaries,
                                                RedisOptions{.clock = &clock});
    else
      single_ = std::make_unique<RedisServer>(RedisOptions{.clock = &clock});
  }
  static Servers& shared(bool cluster) {
    static std::map<bool, std::unique_ptr<Servers>> made;
    auto& servers = made[cluster];
    if (!servers) servers = std::make_unique<Servers>(cluster);
    return *servers;
  }

  [[nodiscard]] redis::Options options() const {
    redis::Options options;
    if (cluster_) options.layout = redis::Options::Layout::cluster;
    for (const RedisServer* server : primaries())
      options.nodes.push_back({.host = "127.0.0.1", .port = server->port()});
    options.timeout = kPatience;
    return options;
  }
  void empty() const {
    for (const RedisServer* server : primaries()) {
      const std::string answer = server->ask({"FLUSHALL"});
      if (answer != "OK") throw std::runtime_error("FLUSHALL: " + answer);
    }
  }
  [[nodiscard]] std::string ask(const std::vector<std::string>& words) const {
    return primaries().front()->ask(words);
  }
  SteeredClock clock;

 private:
  [[nodiscard]] std::vector<const RedisServer*> primaries() const {
    if (!cluster_) return {single_.get()};
    std::vector<const RedisServer*> all;
    for (std::size_t i = 0; i < cluster_->primaries(); ++i) all.push_back(&cluster_->node(i));
    return all;
  }

  std::unique_ptr<RedisServer> single_;
  std::unique_ptr<RedisCluster> cluster_;
};

enum class Kind { single, reconnecting, cluster };

class RedisStores : public StoreUnderTest {
 public:
  RedisStores(Clock& clock, Kind kind)
      : clock_(clock), kind_(kind), servers_(Servers::shared(kind == Kind::cluster)) {
    empty();
    connect();
  }

  store::BookingStore& bookings() override {
    servers_.clock.set(clock_.now());
    asked_bookings_ = true;
    return *bookings_;
  }
  store::CounterStore& counters() override {
    servers_.clock.set(clock_.now());
    asked_counters_ = true;
    return *counters_;
  }
  store::VendorStore& vendors() override {
    servers_.clock.set(clock_.now());
    return *vendors_;
  }
  void settle() override {
    if (kind_ == Kind::reconnecting) connect();
    if (std::exchange(asked_bookings_, false) && kind_ == Kind::cluster) see_every_clock_of_bookings();
    if (std::exchange(asked_counters_, false) && kind_ == Kind::cluster) see_every_clock();
  }
  bool run_one() override {
    loop_.impl()->context.restart();
    return loop_.impl()->context.run_one_for(kPatience) > 0;
  }
  void empty() override { servers_.empty(); }
  std::optional<std::string> ask_server(const std::vector<std::string>& words) override {
    servers_.clock.set(clock_.now());
    return servers_.ask(words);
  }

 private:
  void connect() {
    bookings_.reset();
    counters_.reset();
    vendors_.reset();
    client_.reset();
    auto made = redis::make_client(loop_, servers_.options());
    if (!made) throw std::runtime_error(made.error().detail);
    client_ = *std::move(made);
    const bool cluster = kind_ == Kind::cluster;
    bookings_ = store::make_redis_booking_store(*client_, {.partitions = cluster ? kPartitions : 1});
    counters_ = store::make_redis_counter_store(*client_, {.cluster = cluster});
    vendors_ = store::make_redis_vendor_store(*client_);
    if (cluster) await_slot_map();
  }
  /// Until then a key's primary is a guess, and what is remembered of its clock with it.
  void await_slot_map() {
    bool known = false;
    const std::string_view ping[] = {"PING"};
    client_->each_primary(ping, [&](auto) { known = true; });
    while (!known && run_one()) {
    }
  }

  /// A counter store knows the latest time of each primary that it has asked. The tests know one clock: so
  /// every primary is asked after every call.
  void see_every_clock() {
    std::size_t unseen = client_->shards();
    std::vector<bool> seen(unseen);
    for (int tag = 0; unseen > 0; ++tag) {
      const std::string key = "{" + std::to_string(tag) + "}";
      if (seen[client_->shard(key)]) continue;
      seen[client_->shard(key)] = true;
      bool answered = false;
      counters_->peek({{.key = key, .limit = per(1, 1s)}}, [&](const auto&) { answered = true; });
      while (!answered && run_one()) {
      }
      --unseen;
    }
  }

  void see_every_clock_of_bookings() {
    static const auto policy =
        std::make_shared<const core::BookingPolicy>(core::BookingPolicy{.limits = {per(1, 1s)}});
    const store::BookingNames names("", kPartitions);
    std::vector<bool> seen(client_->shards());
    for (int number = 0; std::ranges::count(seen, false) > 0; ++number) {
      const std::string key = "clock:" + std::to_string(number);
      const auto tag = store::BookingNames::tag_of(key);
      const std::size_t shard = client_->shard(names.place("clock", names.partition_of(tag)));
      if (seen[shard]) continue;
      seen[shard] = true;
      bool answered = false;
      bookings_->inspect(key, policy, [&](const auto&) { answered = true; });
      while (!answered && run_one()) {
      }
    }
  }

  Clock& clock_;
  Kind kind_;
  bool asked_bookings_ = false;
  bool asked_counters_ = false;
  Servers& servers_;
  net::IoLoop loop_;
  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<store::CounterStore> counters_;
  std::unique_ptr<store::VendorStore> vendors_;
};

Backend backend(std::string name, Kind kind) {
  return {std::move(name), [kind](Clock& clock) { return std::make_unique<RedisStores>(clock, kind); }};
}

}  // namespace

Backend redis_backend() {
  return backend("Redis", Kind::single);
}

Backend redis_reconnecting_backend() {
  return backend("RedisNewClientEachCall", Kind::reconnecting);
}

Backend redis_cluster_backend() {
  return backend("RedisCluster", Kind::cluster);
}

}  // namespace dripgate::testing
