#include "redis/slot_map.h"

#include <algorithm>
#include <numeric>

namespace dripgate::redis {
namespace {

struct Range {
  std::int64_t first = 0, last = 0;
  Endpoint primary;
};

std::unexpected<Error> strange() {
  return fail(ErrorCode::corrupt,
              "the reply to CLUSTER SLOTS has another shape than [first, last, [host, port]]", true);
}

// [first, last, [host, port, id, ...], replicas...]
std::optional<Range> range_of(const Reply& reply, const std::string& asked) {
  const auto* items = reply.items();
  if (items == nullptr || items->size() < 3) return std::nullopt;
  const auto *first = (*items)[0].integer(), *last = (*items)[1].integer();
  const auto* node = (*items)[2].items();
  if (first == nullptr || last == nullptr || node == nullptr || node->size() < 2) return std::nullopt;
  const std::string* host = (*node)[0].text();
  const auto* port = (*node)[1].integer();
  if (port == nullptr || *port < 1 || *port > 0xFFFF) return std::nullopt;
  if (*first < 0 || *first > *last || *last >= kSlotCount) return std::nullopt;
  const bool named = host != nullptr && !host->empty() && *host != "?";
  return Range{.first = *first,
               .last = *last,
               .primary = {.host = named ? *host : asked, .port = static_cast<std::uint16_t>(*port)}};
}

}  // namespace

Result<SlotMap> SlotMap::parse(const Reply& reply, const std::string& asked) {
  const auto* items = reply.items();
  if (items == nullptr) return strange();
  SlotMap map;
  std::vector<Range> ranges;
  for (const Reply& item : *items) {
    const auto range = range_of(item, asked);
    if (!range) return strange();
    ranges.push_back(*range);
    map.primaries_.push_back(range->primary);
  }
  if (ranges.empty()) return fail(ErrorCode::unavailable, "no slot of the cluster is served", true);
  std::ranges::sort(map.primaries_);
  const auto doubles = std::ranges::unique(map.primaries_);
  map.primaries_.erase(doubles.begin(), doubles.end());
  map.numbers_.resize(map.primaries_.size());
  std::iota(map.numbers_.begin(), map.numbers_.end(), std::size_t{0});
  for (const Range& range : ranges) {
    const std::uint16_t index = map.index_of(range.primary);
    std::fill(map.owners_.begin() + range.first, map.owners_.begin() + range.last + 1, index);
  }
  return map;
}

std::optional<std::size_t> SlotMap::owner(std::uint16_t slot) const {
  if (owners_[slot] == kNobody) return std::nullopt;
  return owners_[slot];
}

void SlotMap::assign(std::uint16_t slot, const Endpoint& primary) {
  const bool known = std::ranges::binary_search(primaries_, primary);
  const std::size_t number = shard(slot);
  owners_[slot] = index_of(primary);
  // Most likely the one that took the place of the slot's owner: the next map will tell.
  if (!known) numbers_[owners_[slot]] = number;
}

std::size_t SlotMap::shard(std::uint16_t slot) const {
  const auto index = owner(slot);
  return index ? numbers_[*index] : 0;
}

std::optional<std::size_t> SlotMap::primary_of(std::size_t shard) const {
  const auto found = std::ranges::find(numbers_, shard);
  if (found == numbers_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - numbers_.begin());
}

void SlotMap::keep_numbers(const SlotMap& before) {
  if (before.empty()) return;
  const std::size_t count = primaries_.size();
  std::vector<bool> taken(count, false);
  std::vector<std::optional<std::size_t>> kept(count);
  const auto keep = [&](std::size_t index, std::size_t number) {
    if (kept[index] || number >= count || taken[number]) return;
    kept[index] = number;
    taken[number] = true;
  };
  // Of two that had one number (assign), the one with most of the slots keeps it.
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> known;  // slots it had, index
  std::vector<std::size_t> was(count);
  for (std::size_t index = 0; index < count; ++index) {
    const auto place = std::ranges::lower_bound(before.primaries_, primaries_[index]);
    if (place == before.primaries_.end() || *place != primaries_[index]) continue;
    const auto old = static_cast<std::uint16_t>(place - before.primaries_.begin());
    was[index] = before.numbers_[old];
    known.emplace_back(-std::ranges::count(before.owners_, old), index);
  }
  std::ranges::sort(known);
  for (const auto& [slots, index] : known) keep(index, was[index]);
  // A new one has the number of who had its slots.
  for (std::uint16_t slot = 0; slot < kSlotCount; ++slot)
    if (owners_[slot] != kNobody && before.owners_[slot] != kNobody) keep(owners_[slot], before.shard(slot));
  for (std::size_t index = 0; index < count; ++index)
    for (std::size_t number = 0; number < count && !kept[index]; ++number) keep(index, number);
  for (std::size_t index = 0; index < count; ++index) numbers_[index] = *kept[index];
}

// A new primary takes its place in the order: those behind it move up.
std::uint16_t SlotMap::index_of(const Endpoint& primary) {
  const auto place = std::ranges::lower_bound(primaries_, primary);
  const auto index = static_cast<std::uint16_t>(place - primaries_.begin());
  if (place != primaries_.end() && *place == primary) return index;
  primaries_.insert(place, primary);
  numbers_.insert(numbers_.begin() + index, numbers_.size());
  for (std::uint16_t& owner : owners_) {
    if (owner != kNobody && owner >= index) ++owner;
  }
  return index;
}

}  // namespace dripgate::redis
