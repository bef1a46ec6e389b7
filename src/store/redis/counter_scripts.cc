#include "store/redis/counter_scripts.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/limits.h"
#include "store/counter_calls.h"
#include "store/redis/counter_code.h"
#include "store/redis/counter_reply.h"
#include "store/redis/counter_text.h"
#include "store/redis/lua/texts.h"

namespace dripgate::store {
namespace {

using redis::Script;

const Script& consume_script() {
  static const Script script{lua::consume};
  return script;
}
const Script& peek_script() {
  static const Script script{lua::peek};
  return script;
}
const Script& refund_script() {
  static const Script script{lua::refund};
  return script;
}
const Script& bucket_script() {
  static const Script script{lua::consume_bucket};
  return script;
}
const Script& pair_script() {
  static const Script script{lua::consume_pair};
  return script;
}
const Script& buckets_script() {
  static const Script script{lua::consume_buckets};
  return script;
}

/// What a fast path over several buckets says of a text that is none of its kind: only the generic script
/// reads that. Under no numbers that a charge may have, so that none of them is taken for the text's own.
constexpr std::string_view kOtherText = "?";

core::CounterState other_state() {
  core::CounterState state;
  state.exists = true;
  return state;
}

/// Redis' own time is after 1970: 0 says that nothing was seen yet.
std::string us_word(WallTime time) {
  return std::to_string(std::max<std::int64_t>(0, to_us(time)));
}

/// The words of one call, kept until the client has copied them.
class CallWords {
 public:
  void add(std::string word) { words_.push_back(std::move(word)); }
  /// The place of a key among KEYS, added if it is new.
  std::size_t key_place(std::string key) {
    const auto known = std::find(words_.begin(), words_.end(), key);
    const auto place = static_cast<std::size_t>(known - words_.begin()) + 1;
    if (known == words_.end()) words_.push_back(std::move(key));
    return place;
  }
  [[nodiscard]] std::vector<std::string_view> views() const { return {words_.begin(), words_.end()}; }

 private:
  std::vector<std::string> words_;
};

bool asks_alike(const BucketCall& a, const BucketCall& b) {
  return a.requests == b.requests && a.charge->cost == b.charge->cost &&
         core::written_under(a.charge->limit) == core::written_under(b.charge->limit);
}

/// What Redis refuses of a call that this store made is no fault of the request. A value of another kind
/// under a counter's key, or one that its script stumbles over, is corrupt; any other refusal (a user that
/// may not) is a store that does not serve.
std::unexpected<Error> store_failure(Error error) {
  const bool of_what_it_found = error.detail.contains("WRONGTYPE") || error.detail.contains("user_script");
  if (error.code == ErrorCode::invalid_argument)
    error.code = of_what_it_found ? ErrorCode::corrupt : ErrorCode::unavailable;
  return std::unexpected(std::move(error));
}

std::unexpected<Error> trouble_error(const CounterReply& reply) {
  for (const std::string& text : reply.texts)
    if (const auto state = read_counter_text(text); !state) return std::unexpected(state.error());
  return fail(ErrorCode::clock_stepped_back,
              "a counter has seen a time more than " + std::to_string(kClockClampMax.count()) +
                  " us after that of Redis' clock",
              true);
}

}  // namespace

/// What a call was told, as far as its reply must be read with it.
struct CounterScripts::Called {
  std::size_t shard = 0;
  WallTime floor;
};

CounterScripts::CounterScripts(redis::Client& client, RedisStoreOptions options)
    : client_(client), options_(std::move(options)) {}

std::string_view CounterScripts::tag_of(const std::string& key) const {
  if (!options_.cluster) return {};
  const std::size_t open = key.find('{');
  const std::size_t close = open == std::string::npos ? open : key.find('}', open + 1);
  if (close == std::string::npos || close == open + 1) return key;
  return std::string_view(key).substr(open + 1, close - open - 1);
}

std::string CounterScripts::record_key(const GroupRefund& refund) const {
  if (!options_.cluster) return redis_key("refund:" + refund.request_id);
  return redis_key("{" + std::string(tag_of(refund.charges.front().key)) + "}:refund:" + refund.request_id);
}

CounterScripts::Called CounterScripts::called(const std::string& key) const {
  const std::size_t on = shard(key);
  return {.shard = on, .floor = clocks_.latest(on)};
}

Result<Heard> CounterScripts::hear(Result<CounterReply> reply, const Called& called) {
  if (!reply) return std::unexpected(std::move(reply).error());
  if (reply->trouble == Trouble::unknown_format) return trouble_error(*reply);
  const auto now = clocks_.now(called.shard, called.floor, reply->time);
  if (!now) return std::unexpected(now.error());
  if (reply->trouble == Trouble::stepped_back) return trouble_error(*reply);
  Heard heard{.now = *now, .taken = reply->taken, .states = {}, .texts = std::move(reply->texts)};
  heard.states.reserve(heard.texts.size());
  for (const std::string& text : heard.texts) {
    auto state = text == kOtherText ? other_state() : read_counter_text(text);
    if (!state) return std::unexpected(std::move(state).error());
    heard.states.push_back(*std::move(state));
  }
  return heard;
}

void CounterScripts::consume(std::shared_ptr<const Charges> charges, core::Units requests, Done<Heard> done) {
  run(consume_script(), std::move(charges), requests, std::nullopt, std::move(done));
}

void CounterScripts::peek(std::shared_ptr<const Charges> charges, Done<Heard> done) {
  run(peek_script(), std::move(charges), 1, std::nullopt, std::move(done));
}

/// `told`: the time of a first answer that lacked days of a calendar window; they are sent anew once.
void CounterScripts::run(const Script& script, std::shared_ptr<const Charges> charges, core::Units requests,
                         std::optional<WallTime> told, Done<Heard> done) {
  const Called sent = called(charges->front().key);
  CallWords keys;
  CallWords arguments;
  arguments.add(us_word(sent.floor));
  arguments.add(std::to_string(requests));
  for (const Charge& charge : *charges)
    arguments.add(pack_charge(charge, keys.key_place(redis_key(charge.key)), told.value_or(sent.floor)));
  client_.run(script, keys.views(), arguments.views(),
              guard_.wrap([this, &script, charges, requests, told, sent,
                           done = std::move(done)](Result<redis::Reply> answer) mutable {
                if (!answer) return done(store_failure(std::move(answer).error()));
                auto reply = read_counter_reply(*std::move(answer));
                const bool needs_days = reply && reply->trouble == Trouble::needs_days;
                auto heard = hear(std::move(reply), sent);
                if (!heard || !needs_days) return done(std::move(heard));
                if (told)
                  return done(fail(ErrorCode::corrupt, "a calendar window has no day around Redis' time"));
                run(script, charges, requests, heard->now, std::move(done));
              }));
}

void CounterScripts::refund(std::shared_ptr<const GroupRefund> refund, Done<bool> done) {
  const Called sent = called(refund->charges.front().key);
  CallWords keys;
  CallWords arguments;
  arguments.add(us_word(sent.floor));
  arguments.add(us_word(refund->consumed_at));
  arguments.add(us_word(calls::refund_expiry(
      {.charges = refund->charges, .consumed_at = refund->consumed_at, .request_id = refund->request_id})));
  for (std::size_t i = 0; i < refund->charges.size(); ++i) {
    const Charge& charge = refund->charges[i];
    const std::size_t place = keys.key_place(redis_key(charge.key));
    arguments.add(pack_charge(charge, place, kLongAgo) + pack_refund(charge, refund->consumed_at));
    arguments.add(refund->before.empty() ? "-" : refund->before[i]);
  }
  keys.add(record_key(*refund));
  client_.run(refund_script(), keys.views(), arguments.views(),
              guard_.wrap([this, sent, done = std::move(done)](Result<redis::Reply> answer) mutable {
                if (!answer) return done(store_failure(std::move(answer).error()));
                const auto heard = hear(read_counter_reply(*std::move(answer)), sent);
                if (!heard) return done(std::unexpected(heard.error()));
                done(heard->taken.value_or(0) > 0);
              }));
}

void CounterScripts::reset(const std::string& key, Done<void> done) {
  const std::string stored = redis_key(key);
  const std::vector<std::string_view> words{"DEL", stored};
  client_.command(stored, words, guard_.wrap([done = std::move(done)](Result<redis::Reply> answer) mutable {
    if (!answer) return done(store_failure(std::move(answer).error()));
    done({});
  }));
}

void CounterScripts::consume_bucket(const BucketCall& call, Done<Heard> done) {
  const Called sent = called(call.charge->key);
  const std::string key = redis_key(call.charge->key);
  std::string packed = pack_floor(sent.floor);
  add_bucket(packed, *call.charge, call.requests);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {packed};
  client_.run(bucket_script(), keys, arguments,
              guard_.wrap([this, sent, done = std::move(done)](Result<redis::Reply> answer) mutable {
                if (!answer) return done(store_failure(std::move(answer).error()));
                done(hear(read_bucket_reply(*answer), sent));
              }));
}

void CounterScripts::consume_buckets(std::span<const BucketCall> calls, Mode mode, Done<Heard> done) {
  if (calls.size() == 1) return consume_bucket(calls.front(), std::move(done));
  const bool is_pair = calls.size() == 2 && mode == Mode::all;
  const Called sent = called(calls.front().charge->key);
  CallWords keys;
  CallWords arguments;
  std::string packed = pack_floor(sent.floor);
  const bool alike = std::all_of(calls.begin(), calls.end(),
                                 [&](const BucketCall& call) { return asks_alike(call, calls.front()); });
  for (const BucketCall& call : calls) {
    keys.add(redis_key(call.charge->key));
    if (!alike || &call == &calls.front()) add_bucket(packed, *call.charge, call.requests);
  }
  arguments.add(std::move(packed));
  if (!is_pair) arguments.add(mode == Mode::all ? "all" : "each");
  client_.run(is_pair ? pair_script() : buckets_script(), keys.views(), arguments.views(),
              guard_.wrap([this, sent, done = std::move(done)](Result<redis::Reply> answer) mutable {
                if (!answer) return done(store_failure(std::move(answer).error()));
                done(hear(read_buckets_reply(*answer), sent));
              }));
}

void load_counter_scripts(redis::Client& client, Task done) {
  const std::array scripts{&bucket_script(),  &pair_script(), &buckets_script(),
                           &consume_script(), &peek_script(), &refund_script()};
  auto last = std::make_shared<Task>(std::move(done));
  auto waiting = std::make_shared<std::size_t>(scripts.size());
  for (const Script* script : scripts) {
    const std::array<std::string_view, 3> words{"SCRIPT", "LOAD", script->text()};
    client.each_primary(words, [last, waiting](const std::vector<redis::NodeReply>&) {
      if (--*waiting == 0) (*last)();
    });
  }
}

}  // namespace dripgate::store
