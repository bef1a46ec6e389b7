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

  /// In order of host and port, so that an index means the same as long as the set is the same.
  [[nodiscard]] const std::vector<Endpoint>& primaries() const { return primaries_; }
  /// Index into primaries(); empty: nobody is known.
  [[nodiscard]] std::optional<std::size_t> owner(std::uint16_t slot) const;
  /// What a MOVED said. Owners of other slots stay, also where none is left to them.
  void assign(std::uint16_t slot, const Endpoint& primary);
  [[nodiscard]] bool empty() const { return primaries_.empty(); }

 private:
  static constexpr std::uint16_t kNobody = 0xFFFF;

  std::uint16_t index_of(const Endpoint& primary);

  std::vector<Endpoint> primaries_;
  std::vector<std::uint16_t> owners_ = std::vector<std::uint16_t>(kSlotCount, kNobody);
};

}  // namespace dripgate::redis
