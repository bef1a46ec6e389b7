#include "store/redis/booking_batches.h"

#include <algorithm>
#include <utility>

namespace dripgate::store {
namespace {

/// The position of `value` among `values`, where it is put if it is new.
template <class Value>
std::size_t index_of(std::vector<Value>& values, const Value& value) {
  const auto at = static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
  if (at == values.size()) values.push_back(value);
  return at;
}

}  // namespace

struct BookingBatches::Call {
  std::size_t shard;
  WallTime floor;
  std::vector<BookingItem> items;
};

void BookingBatches::add(BookingItem item) {
  const std::size_t shard = client_.shard(item.place);
  if (shard >= waiting_.size()) waiting_.resize(shard + 1);
  Waiting& waiting = waiting_[shard];
  if (waiting.items.size() >= kItemsWaitingMax) {
    return item.done(fail(ErrorCode::full, "redis: too many booking calls wait for one node", true));
  }
  waiting.items.push_back(std::move(item));
  if (std::exchange(waiting.flushing, true)) return;
  client_.when_writable(shard, guard_.wrap([this, shard] { flush(shard); }));
}

void BookingBatches::flush(std::size_t shard) {
  waiting_[shard].flushing = false;
  auto items = std::exchange(waiting_[shard].items, {});
  // Groups in the order of their first item; within a group the order of asking.
  std::vector<std::vector<BookingItem>> groups;
  for (BookingItem& item : items) {
    const auto open = std::ranges::find_if(groups, [&](const auto& group) {
      return group.size() < kItemsPerCallMax && group.front().script == item.script &&
             group.front().place == item.place;
    });
    auto& group = open == groups.end() ? groups.emplace_back() : *open;
    group.push_back(std::move(item));
  }
  for (auto& group : groups) send(shard, std::move(group));
}

void BookingBatches::send(std::size_t shard, std::vector<BookingItem> items) {
  const auto call =
      std::make_shared<Call>(Call{.shard = shard, .floor = clocks_.latest(shard), .items = std::move(items)});
  // Every distinct row, policy and bucket once; items name them by their places, from 1.
  std::vector<std::string> rows;
  std::vector<std::string> buckets;
  std::vector<core::BookingPolicyPtr> policies;
  wire::Packer tags;
  for (const BookingItem& item : call->items) {
    index_of(buckets, item.bucket);
    if (item.row.empty()) continue;
    if (index_of(rows, item.row) + 1 > tags.size() / item.tag.size()) tags.bytes(item.tag);
    index_of(policies, item.policy);
  }
  wire::Packer packed;
  for (const BookingItem& item : call->items) {
    packed.byte(item.flags);
    if (!item.row.empty())
      packed.byte(index_of(policies, item.policy) + 1).byte(index_of(rows, item.row) + 1);
    packed.byte(rows.size() + index_of(buckets, item.bucket) + 1).bytes(item.rest);
    packed.byte(item.field.size()).bytes(item.field).bytes(item.extra);
  }
  const std::string& since = call->items.front().since;
  wire::Packer counts;
  counts.byte(rows.size()).byte(policies.size());
  if (!since.empty()) counts.real(since_[since]);
  std::vector<std::string> arguments{std::to_string(to_us(call->floor)), counts.take(), tags.take(),
                                     packed.take()};
  for (const auto& policy : policies) arguments.push_back(wire::pack_policy(*policy, call->floor));
  std::vector<std::string_view> keys(rows.begin(), rows.end());
  keys.insert(keys.end(), buckets.begin(), buckets.end());
  if (!since.empty()) keys.push_back(since);
  const std::vector<std::string_view> words(arguments.begin(), arguments.end());
  client_.run(*call->items.front().script, keys, words,
              guard_.wrap([this, call](Result<redis::Reply> reply) { heard(*call, std::move(reply)); }));
}

void BookingBatches::heard(Call& call, Result<redis::Reply> reply) {
  const auto batch = [&]() -> Result<wire::BatchAnswer> {
    if (!reply) return std::unexpected(reply.error());
    const std::string* bytes = reply->text();
    auto read = wire::read_batch(bytes == nullptr ? std::string_view{} : *bytes, call.items.size());
    if (read) (void)clocks_.now(call.shard, call.floor, read->now);
    return read;
  }();
  if (batch && batch->since != 0) since_[call.items.front().since] = batch->since;
  // An answer may end this object, or ask again.
  auto items = std::move(call.items);
  for (std::size_t i = 0; i < items.size(); ++i)
    items[i].done(batch ? batch->items[i] : Result<wire::ItemAnswer>(std::unexpected(batch.error())));
}

}  // namespace dripgate::store
