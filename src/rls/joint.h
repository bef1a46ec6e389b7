// One question of several checks: all of them allow, or nothing is spent on any.
#pragma once

#include <span>
#include <vector>

#include "check/answer.h"
#include "check/check.h"
#include "server/gate_service.h"

namespace dripgate::rls {

using Requests = std::vector<check::Request>;
using Answers = std::vector<check::Answer>;

/// Asks the gate once per request, all at once; `done` gets as many answers in their order, once, on the
/// gate's loop, maybe within the call. Where one of them refuses, what the others took is on its way back
/// before `done` runs, and they say what is left after that. What a local share took is not given back.
/// Errors: invalid_argument of the first request that has one; nothing is spent then either.
void ask_all(server::GateService& gate, Requests requests, Done<Answers> done);

/// The answer of the whole, for headers and problem document: kind and deciding policy of the one that
/// decides, the policies of all, each once. `answers` has at least one.
[[nodiscard]] check::Answer joined(std::span<const check::Answer> answers);

}  // namespace dripgate::rls
