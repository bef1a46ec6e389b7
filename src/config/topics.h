// Topics: their names, who may use which, and that no event can run in a circle: a source that is its own
// overflow, dead letter or sink, directly or through other streams. Called by load.cc. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/report.h"
#include "config/stream_reader.h"

namespace dripgate::config {

/// A topic's name; empty: reported.
[[nodiscard]] std::string read_topic(const Node& node, std::string_view what, Report& report);

/// Refuses circles, and topics that two streams would take from each other.
void check_topics(const std::vector<PlacedStream>& streams, Report& report);

}  // namespace dripgate::config
