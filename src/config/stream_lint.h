// Stream lint: what right streams should be warned about. Called by load.cc. Pure.
#pragma once

#include <vector>

#include "config/report.h"
#include "config/stream_reader.h"

namespace dripgate::config {

void lint_streams(const std::vector<PlacedStream>& streams, Report& report);

}  // namespace dripgate::config
