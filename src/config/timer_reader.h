// Timer reader: `timer` of one stream: where its booked events wait. Called by the stream reader. Pure.
#pragma once

#include <optional>

#include "config/config.h"
#include "config/context.h"
#include "config/fields.h"

namespace dripgate::config {

/// Empty: the stream names none, its timer is in the store.
[[nodiscard]] std::optional<CloudTasksTimer> read_timer(const Fields& stream, Context& context);

/// After horizon and retention were read: the horizon ends where the service's does, and an event id is
/// remembered for longer than the service keeps a name.
void fit_to_cloud_tasks(const Fields& stream, core::BookingPolicy& booking, Context& context);

}  // namespace dripgate::config
