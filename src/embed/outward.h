// What the rooms answer as values of the library. Pure.
#pragma once

#include "check/answer.h"
#include "check/explanation.h"
#include "core/booking_types.h"
#include "dripgate/decision.h"
#include "dripgate/scheduler.h"

namespace dripgate::embed {

[[nodiscard]] v1::Limit outward(const core::Limit& limit);
[[nodiscard]] v1::FailureMode outward(core::FailureMode mode);
/// `legacy` adds X-RateLimit-* to the headers.
[[nodiscard]] v1::Decision outward(const check::Answer& answer, bool legacy);
[[nodiscard]] v1::Explanation outward(const check::Explanation& explanation, bool legacy);

}  // namespace dripgate::embed
