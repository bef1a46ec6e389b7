// Delivery reader: `deliver` of a stream: an HTTP endpoint or a topic. Called by the stream reader. Pure.
#pragma once

#include "config/config.h"
#include "config/context.h"
#include "config/fields.h"

namespace dripgate::config {

struct ReadDelivery {
  Delivery delivery;
  int max_attempts = 8;
};

/// What could not be read is in the report.
[[nodiscard]] ReadDelivery read_delivery(const Fields& stream, Context& context);

}  // namespace dripgate::config
