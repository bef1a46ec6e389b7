// Dice: the one source of chance of a history; the same seed throws the same.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace dripgate::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [from, to].
  std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(to - from + 1));
  }
  /// True in `part` of `of` throws.
  bool chance(std::int64_t part, std::int64_t of) { return between(1, of) <= part; }
  Duration span(Duration from, Duration to) { return Duration{between(from.count(), to.count())}; }

 private:
  std::uint64_t state_;
};

}  // namespace dripgate::sim
