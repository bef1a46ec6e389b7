// VendorStore on Redis: one script per call (lua/vendor_*.lua), on Redis' own clock. Single-threaded, on the
// client's loop.
#include <memory>
#include <utility>

#include "base/guard.h"
#include "store/redis/lua/texts.h"
#include "store/redis/node_clock.h"
#include "store/redis/stores.h"
#include "store/redis/vendor_wire.h"

namespace dripgate::store {
namespace {

const redis::Script& acquire_script() {
  static const redis::Script script{lua::vendor_acquire};
  return script;
}
const redis::Script& observe_script() {
  static const redis::Script script{lua::vendor_observe};
  return script;
}
const redis::Script& look_script() {
  static const redis::Script script{lua::vendor_look};
  return script;
}

/// What Redis refuses of a call that this store made is no fault of the request.
Error store_failure(Error error) {
  const bool of_what_it_found = error.detail.contains("WRONGTYPE") || error.detail.contains("user_script");
  if (error.code == ErrorCode::invalid_argument)
    error.code = of_what_it_found ? ErrorCode::corrupt : ErrorCode::unavailable;
  return error;
}

/// One script call, kept until it is answered.
template <class Answer>
struct Call {
  const redis::Script& script;
  Result<VendorReply<Answer>> (*read)(std::string_view);
  std::string key;
  core::VendorPolicyPtr policy;
  std::string argument;
  Done<Answer> done;
};

class RedisVendorStore final : public VendorStore {
 public:
  RedisVendorStore(redis::Client& client, std::string key_prefix)
      : client_(client), key_prefix_(std::move(key_prefix)) {}

  void acquire(VendorAcquire call, Done<core::VendorGrant> done) override {
    std::string argument = pack_vendor_costs(*call.policy, call.costs);
    run(std::make_shared<Call<core::VendorGrant>>(acquire_script(), read_vendor_grant, redis_key(call.key),
                                                  std::move(call.policy), std::move(argument),
                                                  std::move(done)),
        std::nullopt);
  }

  void observe(VendorObserve call, Done<core::VendorEffect> done) override {
    std::string argument = pack_observation(*call.policy, call.seen);
    run(std::make_shared<Call<core::VendorEffect>>(observe_script(), read_vendor_effect, redis_key(call.key),
                                                   std::move(call.policy), std::move(argument),
                                                   std::move(done)),
        std::nullopt);
  }

  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override {
    const std::string stored = redis_key(key);
    const std::string_view keys[] = {stored};
    const std::size_t shard = client_.shard(stored);
    client_.run(look_script(), keys, {},
                guard_.wrap([this, shard, floor = clocks_.latest(shard), policy = std::move(policy),
                             done = std::move(done)](Result<redis::Reply> reply) mutable {
                  if (!reply) return done(std::unexpected(store_failure(std::move(reply).error())));
                  done(look(*reply, *policy, shard, floor));
                }));
  }

  void reset(std::string key, Done<void> done) override {
    const std::string stored = redis_key(key);
    const std::string_view words[] = {"DEL", stored};
    client_.command(stored, words, guard_.wrap([done = std::move(done)](Result<redis::Reply> reply) mutable {
      if (!reply) return done(std::unexpected(store_failure(std::move(reply).error())));
      done({});
    }));
  }

 private:
  [[nodiscard]] std::string redis_key(const std::string& key) const {
    return key_prefix_ + "vendor:{" + key + "}";
  }

  /// `told`: the time of a first answer that lacked days of a calendar window; they are sent anew once.
  template <class Answer>
  void run(std::shared_ptr<Call<Answer>> call, std::optional<WallTime> told) {
    const std::size_t shard = client_.shard(call->key);
    const WallTime floor = clocks_.latest(shard);
    const std::string words =
        pack_vendor_policy(*call->policy, floor, told.value_or(std::max(floor, WallTime{}))) + call->argument;
    const std::string_view keys[] = {call->key};
    const std::string_view arguments[] = {words};
    client_.run(call->script, keys, arguments,
                guard_.wrap([this, call, told, shard, floor](Result<redis::Reply> reply) {
                  if (!reply) return call->done(std::unexpected(store_failure(std::move(reply).error())));
                  hear(call, told, shard, floor, *reply);
                }));
  }

  template <class Answer>
  void hear(const std::shared_ptr<Call<Answer>>& call, std::optional<WallTime> told, std::size_t shard,
            WallTime floor, const redis::Reply& reply) {
    const std::string* text = reply.text();
    const auto read = call->read(text == nullptr ? std::string_view{} : *text);
    if (!read) return call->done(std::unexpected(read.error()));
    const auto now = clocks_.now(shard, floor, read->time);
    if (!now) return call->done(std::unexpected(now.error()));
    switch (read->trouble) {
      case VendorTrouble::none:
        return call->done(read->answer);
      case VendorTrouble::needs_days:
        if (!told) return run(call, *now);
        return call->done(fail(ErrorCode::corrupt, "a calendar window has no day around Redis' time"));
      case VendorTrouble::stepped_back:
        return call->done(fail(ErrorCode::clock_stepped_back,
                               "the vendor key has seen a time more than 5 s after that of Redis' clock",
                               true));
      case VendorTrouble::other_format:
        return call->done(fail(ErrorCode::newer_version,
                               "the vendor key is of a format that this Dripgate does not "
                               "read"));
    }
  }

  Result<core::VendorView> look(const redis::Reply& reply, const core::VendorPolicy& policy,
                                std::size_t shard, WallTime floor) {
    const auto* items = reply.items();
    if (items == nullptr || items->size() != 3)
      return fail(ErrorCode::corrupt, "vendor_look gave no three items");
    const auto number = [&](std::size_t i) {
      const std::string* text = (*items)[i].text();
      return text == nullptr ? 0 : std::strtoll(text->c_str(), nullptr, 10);
    };
    const std::string* text = (*items)[2].text();
    auto state = core::decode_vendor(text == nullptr ? std::string_view{} : *text);
    if (!state) return std::unexpected(state.error());
    const auto now = clocks_.now(shard, floor, from_us(number(0) * 1'000'000 + number(1)));
    if (!now) return std::unexpected(now.error());
    return core::view(*std::move(state), policy, *now);
  }

  redis::Client& client_;
  std::string key_prefix_;
  NodeClocks clocks_;
  Guard guard_;  // last
};

}  // namespace

std::unique_ptr<VendorStore> make_redis_vendor_store(redis::Client& client, std::string key_prefix) {
  return std::make_unique<RedisVendorStore>(client, std::move(key_prefix));
}

}  // namespace dripgate::store
