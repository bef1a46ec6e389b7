// From charges and what a counter script found to the answers: core decides again, over the same numbers.
// Pure.
#pragma once

#include <span>
#include <vector>

#include "core/counter.h"
#include "store/counter_store.h"

namespace dripgate::store {

/// What Redis can count with doubles (lua/lib_counter.lua). Error: invalid_argument.
[[nodiscard]] Result<void> check_countable(const Charges& charges);

/// The same charges, each with what all of its key ask together (core/check.cc, joint_cost): so each can be
/// looked at alone.
[[nodiscard]] Charges join_costs(Charges charges);

/// True: the fast paths of a bucket take it.
[[nodiscard]] bool is_common(const Charge& charge);
/// True: a fast path that found this state counted with it, as core does. Else it did nothing.
[[nodiscard]] bool is_under(const core::CounterState& state, const core::Limit& limit, WallTime now);

/// A script and core decided differently over the same numbers: a fault of this program.
[[nodiscard]] std::unexpected<Error> scripts_disagree();

/// One request over charges with joint costs and the states before it.
[[nodiscard]] core::Decision decide(std::span<const Charge> charges, std::vector<core::CounterState>& states,
                                    WallTime now);
/// Equal requests of one charge, one after the other: the answers in their order.
[[nodiscard]] std::vector<core::Decision> decide_each(const Charge& charge, core::Units requests,
                                                      core::CounterState& state, WallTime now);

}  // namespace dripgate::store
