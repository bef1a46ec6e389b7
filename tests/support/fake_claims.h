// Claims in memory on virtual time, behind the product's port: the shelf survives what uses it. Faults are
// hooks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/guard.h"
#include "broker/claims.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

struct ClaimShelf {
  static constexpr Duration kGrace = std::chrono::minutes{10};

  struct Claim {
    std::string bytes;
    std::optional<WallTime> ends{};  // let go: then
  };
  std::map<std::string, Claim> claims;
  std::optional<broker::ClaimOf> last;           // put
  std::function<std::optional<Error>()> refuse;  // asked before every put and find
};

class FakeClaims final : public broker::Claims {
 public:
  FakeClaims(ClaimShelf& shelf, SimExecutor& executor, VirtualClock& clock)
      : shelf_(shelf), executor_(executor), clock_(clock) {}

  void put(std::string id, std::string bytes, broker::ClaimOf of, Done<void> done) override {
    shelf_.last = of;
    later([this, id = std::move(id), bytes = std::move(bytes), done = std::move(done)]() mutable {
      if (auto error = refused()) return done(std::unexpected(*std::move(error)));
      shelf_.claims[id] = {.bytes = std::move(bytes)};
      done({});
    });
  }
  void find(std::string id, Done<broker::FoundClaim> done) override {
    later([this, id = std::move(id), done = std::move(done)]() mutable {
      if (auto error = refused()) return done(std::unexpected(*std::move(error)));
      const auto found = shelf_.claims.find(id);
      if (found == shelf_.claims.end()) return done(broker::FoundClaim{});
      const auto& [bytes, ends] = found->second;
      if (ends && *ends <= clock_.now()) return done(broker::FoundClaim{.bytes = {}, .over = true});
      done(broker::FoundClaim{.bytes = bytes});
    });
  }
  void let_go(std::string id) override {
    const auto found = shelf_.claims.find(id);
    if (found != shelf_.claims.end()) found->second.ends = clock_.now() + ClaimShelf::kGrace;
  }

 private:
  [[nodiscard]] std::optional<Error> refused() { return shelf_.refuse ? shelf_.refuse() : std::nullopt; }

  // Kept here, so that a kill drops what waits for an answer with this object and not inside of the executor.
  void later(Task task) {
    open_[++last_] = std::move(task);
    executor_.post(guard_.wrap([this, number = last_] { open_.extract(number).mapped()(); }));
  }

  ClaimShelf& shelf_;
  SimExecutor& executor_;
  VirtualClock& clock_;
  std::map<std::uint64_t, Task> open_;
  std::uint64_t last_ = 0;
  Guard guard_;
};

}  // namespace dripgate::testing
