// What is looked at before the first pull: that topics and subscriptions are there and fit what the drip does
// with them. Blocking, at start only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

/// One stream's places, with full names ("projects/P/topics/T"). Empty: not used by this process.
struct StreamPlaces {
  std::string stream;
  std::string source;  // subscription
  std::string overflow_topic;
  std::string overflow_subscription;
  std::string dead_letter_topic;
  std::string deliver_topic;
};

/// Of a subscription that is made here.
inline constexpr int kMadeAckDeadlineSeconds = 60;
/// A process that dies keeps its deliveries for so long from the others: longer is advised against.
inline constexpr int kAckDeadlineSecondsAdvised = 300;

/// Advice, one sentence each. `create`: what is missing is made (a source subscription on the topic of its
/// own name). Errors: not_found (what, and how it is made), invalid_argument (it is there and cannot serve).
/// What may not be looked at, or does not answer, is advice: publishing and pulling tell soon enough.
[[nodiscard]] Result<std::vector<std::string>> check_places(Admin& admin,
                                                            std::span<const StreamPlaces> streams,
                                                            bool create);

}  // namespace dripgate::broker::pubsub
