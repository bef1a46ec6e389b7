#include "redis/slot_map.h"

#include <algorithm>

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
  owners_[slot] = index_of(primary);
}

// A new primary takes its place in the order: those behind it move up.
std::uint16_t SlotMap::index_of(const Endpoint& primary) {
  const auto place = std::ranges::lower_bound(primaries_, primary);
  const auto index = static_cast<std::uint16_t>(place - primaries_.begin());
  if (place != primaries_.end() && *place == primary) return index;
  primaries_.insert(place, primary);
  for (std::uint16_t& owner : owners_) {
    if (owner != kNobody && owner >= index) ++owner;
  }
  return index;
}

}  // namespace dripgate::redis
