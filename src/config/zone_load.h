// Zone loading: an IANA time zone from the system's tz database as base's Zone, all changes of 1970..2100.
// Called when a limit names a timezone. Thread-safe; each name is read once per process.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/zone.h"

namespace dripgate::config {

/// Errors: not_found; detail is a sentence that ends with what is accepted.
[[nodiscard]] Result<std::shared_ptr<const Zone>> load_zone(const std::string& name);

}  // namespace dripgate::config
