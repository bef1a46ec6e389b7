// The port to where events go in the end: an HTTP endpoint or a topic.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "broker/message.h"

namespace dripgate::broker {

struct Outgoing {
  Message message;                    // original bytes; attributes carry the dripgate-* headers
  WallTime valid_until = kNeverEnds;  // do not start sending at or after this instant (store clock)
};

enum class SinkVerdict {
  confirmed,     // it has it
  expired,       // not sent: valid_until had passed
  rate_limited,  // 429: not a failed attempt
  not_yet,       // not sent: the vendor's shared bucket has no room before retry_after
  failed,        // 5xx, 408, 425, network: try again later
  refused,       // any other 4xx: permanent
};

struct SinkAnswer {
  SinkVerdict verdict = SinkVerdict::confirmed;
  std::optional<Duration> retry_after;  // the sink's own hint
  std::string detail;                   // "HTTP 503", "connection refused"
  int status = 0;                       // of an HTTP answer
  std::vector<std::pair<std::string, std::string>>
      headers{};  // of an HTTP answer, where the sink was asked to keep them
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void deliver(Outgoing outgoing, std::move_only_function<void(SinkAnswer)> done) = 0;
};

}  // namespace dripgate::broker
