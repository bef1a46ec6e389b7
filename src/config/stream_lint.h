// Stream lint: what streams must hold together with the store, and what right streams should be warned about.
// Called by load.cc. Pure.
#pragma once

#include <vector>

#include "config/report.h"
#include "config/stream_reader.h"

namespace dripgate::config {

/// Refuses sources that do not live where the store does (events, bookings and timers share it), and sources
/// on Pub/Sub without a store that processes share, without `gcp` or with names that Pub/Sub refuses.
void check_sources(const std::vector<PlacedStream>& streams, const Config& config, Report& report);
/// Refuses timers on Cloud Tasks without what they need; warns of queues that streams share.
void check_timers(const std::vector<PlacedStream>& streams, const Config& config, Report& report);
void lint_streams(const std::vector<PlacedStream>& streams, Report& report);

}  // namespace dripgate::config
