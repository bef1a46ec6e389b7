// RowCache: rows of one table in memory, changed in place over a turn and written once at its end, so that a
// hot row is written once per turn. Clean rows stay over turns up to a bound. Used by the SQLite stores,
// single-threaded. References stay valid until flush(), forget() or trim().
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dripgate::store {

/// Clean rows kept over turns; over it all of them go (a hot one is read again once).
inline constexpr std::size_t kCleanRowsMax = 4096;

template <class Name, class Row, class Hash = std::hash<Name>>
class RowCache {
 public:
  struct Entry {
    Row row;
    bool dirty = false;
  };
  using Rows = std::unordered_map<Name, Entry, Hash>;
  using Slot = typename Rows::value_type;

  /// The row of a name; `load(row)` fills it when it is not here. The error is load's, and nothing is kept.
  template <class Load>
  Result<Slot*> open(const Name& name, Load load) {
    const auto [at, made] = rows_.try_emplace(name);
    if (made) {
      if (auto loaded = load(at->second.row); !loaded) {
        rows_.erase(at);
        return std::unexpected(std::move(loaded).error());
      }
    }
    return &*at;
  }
  void mark(Slot& slot) {
    if (std::exchange(slot.second.dirty, true)) return;
    dirty_.push_back(&slot);
  }
  /// Writes what changed since the last flush. After an error the owner of the turn rolls back and forgets.
  template <class Write>
  Result<void> flush(Write write) {
    for (Slot* slot : dirty_) {
      if (auto written = write(slot->first, slot->second.row); !written) return written;
      slot->second.dirty = false;
    }
    dirty_.clear();
    return {};
  }
  [[nodiscard]] std::size_t dirty() const { return dirty_.size(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  /// Drops clean rows when they are too many. Call it while no reference is held. A turn's own rows never
  /// count: their number is bounded by the turn.
  void trim() {
    if (rows_.size() <= kCleanRowsMax + 2 * dirty_.size()) return;
    std::erase_if(rows_, [](const Slot& slot) { return !slot.second.dirty; });
  }
  void forget() {
    dirty_.clear();
    rows_.clear();
  }

 private:
  Rows rows_;
  std::vector<Slot*> dirty_;
};

}  // namespace dripgate::store
