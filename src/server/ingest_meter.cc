#include "server/ingest_meter.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace dripgate::server {

Result<std::optional<Duration>> IngestMeter::admit(std::int64_t per_second, std::size_t events,
                                                   WallTime now) {
  const core::Limit limit{.algorithm = core::Algorithm::token_bucket,
                          .limit = per_second,
                          .window = std::chrono::seconds{1},
                          .capacity = per_second,
                          .zone = nullptr};
  const std::scoped_lock lock(mutex_);
  // Threads may bring their readings of the clock out of order.
  last_seen_ = std::max(last_seen_, now);
  const std::array items{
      core::CheckItem{.state = &state_, .limit = &limit, .cost = static_cast<core::Units>(events)}};
  const core::Decision decision = core::consume(items, last_seen_);
  if (decision.verdict == core::Verdict::allow) return std::nullopt;
  const auto& retry_after = decision.outcomes.at(0).retry_after;
  if (decision.verdict == core::Verdict::deny && retry_after) return retry_after;
  return fail(ErrorCode::too_large, std::to_string(events) + " events at once are over server.ingestRate (" +
                                        std::to_string(per_second) + " per second): send fewer per request");
}

}  // namespace dripgate::server
