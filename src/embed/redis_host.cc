// A host on a Redis that processes share: one loop with a client for checks, whose timeout is that of a
// check, and one for bookings.
#include <array>
#include <future>
#include <utility>

#include "embed/host.h"
#include "redis/make_client.h"
#include "runtime/redis_options.h"
#include "store/redis/instances.h"
#include "store/redis/stores.h"

namespace dripgate::embed {
namespace {

/// For telling the others that this process counts no more.
constexpr Duration kLeaveWait = 1s;

class RedisHost final : public Host {
 public:
  explicit RedisHost(const config::RedisStore& store) : store_(store) {}

  Result<void> open() {
    redis::Options options = runtime::redis_options(store_);
    options.timeout = store_.timeout;
    auto client = redis::make_client(loop_.io(), std::move(options));
    if (!client) return std::unexpected(client.error());
    checks_ = std::move(*client);
    counters_ = store::make_redis_counter_store(
        *checks_,
        {.key_prefix = store_.key_prefix, .cluster = store_.layout == config::RedisStore::Layout::cluster});
    vendors_ = store::make_redis_vendor_store(*checks_, store_.key_prefix);
    instances_ = std::make_unique<store::Instances>(*checks_, loop_, store_.key_prefix,
                                                    [this](int count) { local_.set_instances(count); });
    start([] {});
    wait_until_connected();
    loop_.run([this] { instances_->start(); });
    return {};
  }

  Result<void> open_bookings() override {
    Result<void> result;
    run([&] {
      if (bookings_ != nullptr) return;
      auto client = redis::make_client(loop_.io(), runtime::redis_options(store_));
      if (!client) {
        result = std::unexpected(client.error());
        return;
      }
      booking_client_ = std::move(*client);
      bookings_ = store::make_redis_booking_store(
          *booking_client_,
          {.key_prefix = store_.key_prefix, .partitions = static_cast<std::size_t>(store_.partitions)});
    });
    return result;
  }

  void enter(Task task) override { loop_.post(std::move(task)); }
  void run(Task task) override { here() ? task() : void(loop_.run(std::move(task))); }
  store::CounterStore& counters() override { return *counters_; }
  store::BookingStore& bookings() override { return *bookings_; }
  store::VendorStore& vendors() override { return *vendors_; }
  Executor& executor() override { return loop_; }
  std::size_t shard(std::string_view key) const override { return checks_->shard(key); }

 private:
  /// The first checks of a process find a connection; a Redis that is away holds nobody up for long.
  void wait_until_connected() {
    auto heard = std::make_shared<std::promise<void>>();
    std::future<void> waiting = heard->get_future();
    loop_.post([this, heard] {
      const std::array<std::string_view, 1> words{"PING"};
      checks_->each_primary(words, [heard](const std::vector<redis::NodeReply>&) { heard->set_value(); });
    });
    waiting.wait_for(redis::kEachPrimaryTimeout + kLeaveWait);
  }

  void leave() override {
    auto heard = std::make_shared<std::promise<void>>();
    std::future<void> waiting = heard->get_future();
    loop_.post([this, heard] { instances_->stop([heard] { heard->set_value(); }); });
    waiting.wait_for(kLeaveWait);
  }

  const config::RedisStore store_;
  std::unique_ptr<redis::Client> checks_;
  std::unique_ptr<store::CounterStore> counters_;
  std::unique_ptr<store::VendorStore> vendors_;
  std::unique_ptr<store::Instances> instances_;
  std::unique_ptr<redis::Client> booking_client_;
  std::unique_ptr<store::BookingStore> bookings_;
};

}  // namespace

Result<HostPtr> open_redis_host(const config::RedisStore& store) {
  auto host = std::make_unique<RedisHost>(store);
  if (auto opened = host->open(); !opened) return std::unexpected(opened.error());
  return v1::shared(std::move(host));
}

}  // namespace dripgate::embed
