#include "sim/sim_sink.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/rfc3339.h"

namespace dripgate::sim {
namespace {

std::string attribute(const broker::Message& message, std::string_view name) {
  const std::string* value = broker::find(message.attributes, name);
  return value != nullptr ? *value : "";
}

}  // namespace

void SimSink::deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) {
  const bool slow = trouble_->dice.chance(trouble_->now.sink_slow, 1000);
  const Duration before = slow ? trouble_->dice.span(0us, 3s) : 0us;
  trouble_->executor.post_after(before, trouble_->guard.wrap([this, slow, outgoing = std::move(outgoing),
                                                              done = std::move(done)]() mutable {
    const broker::SinkAnswer answer = serve(outgoing);
    const std::string id = attribute(outgoing.message, "dripgate-id");
    const std::string key = attribute(outgoing.message, "dripgate-key");
    const Duration after = slow ? trouble_->dice.span(0us, 3s) : trouble_->dice.span(0us, 20ms);
    trouble_->executor.post_after(
        after, trouble_->guard.wrap([this, id, key, answer, done = std::move(done)]() mutable {
          constexpr std::array kWords{"confirmed", "expired", "429", "not yet", "failed", "refused"};
          ledger_.note("sink " + id + ": " + kWords[static_cast<std::size_t>(answer.verdict)]);
          Seen& seen = seen_[id];
          ++(answer.verdict == broker::SinkVerdict::confirmed ? seen.confirmed : seen.refused_to_confirm);
          const WallTime now = clock_.now();
          done(answer);
          if (answer.verdict == broker::SinkVerdict::rate_limited && plan_.exact()) {
            ledger_.freeze("s:" + key, now + *answer.retry_after);
          }
        }));
  }));
}

broker::SinkAnswer SimSink::serve(const broker::Outgoing& outgoing) {
  using Verdict = broker::SinkVerdict;
  Dice& dice = trouble_->dice;
  const Troubles& troubles = trouble_->now;
  if (clock_.now() >= outgoing.valid_until) return {Verdict::expired, {}, ""};
  if (dice.chance(troubles.sink_rate_limits, 1000)) {
    return {.verdict = Verdict::rate_limited, .retry_after = dice.span(0us, 8s), .detail = "HTTP 429"};
  }
  if (dice.chance(troubles.sink_fails, 1000)) return {Verdict::failed, {}, "HTTP 503"};
  if (dice.chance(troubles.sink_refuses, 1000)) return {Verdict::refused, {}, "HTTP 400"};
  receive(outgoing.message);
  if (dice.chance(troubles.sink_lost_reply, 1000)) {
    return {Verdict::failed, {}, "the connection broke"};
  }
  return {};
}

void SimSink::receive(const broker::Message& message) {
  const std::string id = attribute(message, "dripgate-id");
  Seen& seen = seen_[id];
  ++seen.received;
  const auto planned = std::ranges::find(plan_.events, id, &PlannedEvent::id);
  if (planned != plan_.events.end() && planned->body != message.body) {
    ledger_.fault(id + " arrived with other bytes: " + message.body);
  }
  const std::string released = attribute(message, "dripgate-released");
  const auto at = parse_rfc3339(released);
  const std::string key = "s:" + attribute(message, "dripgate-key");
  const std::size_t releases = at ? ledger_.releases(key, id, *at) : 0;
  if (releases == 0) {
    ledger_.fault(id + " arrived with dripgate-released " + released +
                  ", which the store had not durably charged to it");
  }
  // A further attempt has been through the gate: it carries another release. (A source message that comes
  // again does not know of failed attempts: then two numbers may share one.)
  std::set<std::string>& attempts = seen.attempts_of_release[released];
  attempts.insert(attribute(message, "dripgate-attempt"));
  if (attempts.size() > releases && plan_.stream->retries_cost && plan_.only_the_sink_fails()) {
    ledger_.fault(id + ": " + std::to_string(attempts.size()) + " attempts share the release " + released);
  }
}

}  // namespace dripgate::sim
