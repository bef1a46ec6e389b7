// SlotMap: which primary owns which slot, as CLUSTER SLOTS told it, corrected by MOVED. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "redis/options.h"
#include "redis/reply.h"
#include "redis/slots.h"

namespace dripgate::redis {

class SlotMap {
 public:
  /// Of a reply to CLUSTER SLOTS. `asked`: the host that answered, where it does not know its own name.
  /// Errors: corrupt (another shape), unavailable (no slot is served).
  [[nodiscard]] static Result<SlotMap> parse(const Reply& reply, const std::string& asked);

  /// In order of host and port.
  [[nodiscard]] const std::vector<Endpoint>& primaries() const { return primaries_; }
  /// Index into primaries(); empty: nobody is known.
  [[nodiscard]] std::optional<std::size_t> owner(std::uint16_t slot) const;
  /// What a MOVED said. Owners of other slots stay, also where none is left to them.
  void assign(std::uint16_t slot, const Endpoint& primary);
  [[nodiscard]] bool empty() const { return primaries_.empty(); }

  /// A small number for the owner of a slot. A primary keeps it, and who takes a primary's place has its
  /// number.
  [[nodiscard]] std::size_t shard(std::uint16_t slot) const;
  /// Index into primaries() of one that has this number.
  [[nodiscard]] std::optional<std::size_t> primary_of(std::size_t shard) const;
  /// Numbers of primaries as they were in the map before this one.
  void keep_numbers(const SlotMap& before);

 private:
  static constexpr std::uint16_t kNobody = 0xFFFF;

  std::uint16_t index_of(const Endpoint& primary);

  std::vector<Endpoint> primaries_;
  std::vector<std::size_t> numbers_;  // of each of primaries_
  std::vector<std::uint16_t> owners_ = std::vector<std::uint16_t>(kSlotCount, kNobody);
};

}  // namespace dripgate::redis
