// Stream reader: one item of `streams` as StreamSettings. Called by load.cc; what streams must hold together
// is in topics.h and stream_lint.h. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

inline constexpr std::size_t kStreamsMax = 1'000;

struct PlacedStream {
  StreamSettings settings;
  std::string name;  // "stream 'payouts'" for messages
  Mark at;
  Mark source_at;
  bool source_is_redis = false;
  Mark timer_at;
  Mark overflow_at;
  Mark dead_letter_at;
  Mark deliver_at;
  Mark max_delay_at;
  Mark limits_at;
};

/// All streams that read well; the others are in the report.
[[nodiscard]] std::vector<PlacedStream> read_streams(const Node& list, Context& context);

}  // namespace dripgate::config
