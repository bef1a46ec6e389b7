#include "app/drip_watch.h"

#include <utility>

#include "runtime/real_clock.h"

namespace dripgate::app {
namespace {

using Kind = drip::EventVerdict::Kind;

const char* word(broker::SinkVerdict verdict) {
  switch (verdict) {
    case broker::SinkVerdict::confirmed:
      return "confirmed";
    case broker::SinkVerdict::expired:
      return "expired";
    case broker::SinkVerdict::rate_limited:
      return "rate_limited";
    case broker::SinkVerdict::not_yet:
      return "not_yet";
    case broker::SinkVerdict::failed:
      return "failed";
    case broker::SinkVerdict::refused:
      return "refused";
  }
  std::unreachable();
}

}  // namespace

void DripWatch::on_verdict(const core::Stream& stream, const drip::EventVerdict& verdict) {
  obs::StreamMetrics& metrics = metrics_.stream(stream.id);
  metrics.verdict(to_string(verdict.kind));
  if (verdict.kind == Kind::scheduled) metrics.booking();
  verdicts_(stream.id, verdict);
}

void DripWatch::on_release(const core::Stream& stream, std::string_view, std::string_view, WallTime,
                           Duration late) {
  metrics_.stream(stream.id).release(late);
}

void DripWatch::on_rebook(const core::Stream& stream, std::string_view, WallTime) {
  metrics_.stream(stream.id).rebook();
}

std::optional<std::int64_t> DripWatch::left_out(const core::Stream& stream, std::string_view kind) {
  Muted& muted = muted_[stream.id + "/" + std::string(kind)];
  const MonoTime now = runtime::mono_now();
  if (now < muted.until) {
    ++muted.lines;
    return std::nullopt;
  }
  return std::exchange(muted, {now + kSameLineEvery, 0}).lines;
}

void DripWatch::say_left_out() {
  const MonoTime now = runtime::mono_now();
  for (auto& [kind, muted] : muted_) {
    if (muted.lines == 0 || now < muted.until) continue;
    log_.warn("more of these", {{"kind", kind}, {"left_out", std::exchange(muted.lines, 0)}});
  }
}

void DripWatch::on_delivery(const core::Stream& stream, std::string_view event_id,
                            const broker::SinkAnswer& answer) {
  metrics_.stream(stream.id).delivery(word(answer.verdict));
  if (answer.verdict == broker::SinkVerdict::confirmed) return;
  const auto more = left_out(stream, word(answer.verdict));
  if (!more) return;
  log_.warn("not delivered", {{"stream", stream.id},
                              {"event_id", event_id},
                              {"verdict", word(answer.verdict)},
                              {"detail", answer.detail},
                              {"left_out", *more}});
}

void DripWatch::on_dead_letter(const core::Stream& stream, std::string_view event_id,
                               std::string_view reason) {
  metrics_.stream(stream.id).dead_letter(reason);
  const auto more = left_out(stream, reason);
  if (!more) return;
  log_.warn("event dead-lettered",
            {{"stream", stream.id}, {"event_id", event_id}, {"reason", reason}, {"left_out", *more}});
}

void DripWatch::on_missing_key(const core::Stream& stream) {
  metrics_.stream(stream.id).missing_key();
}

void DripWatch::on_redelivery(const core::Stream& stream) {
  metrics_.stream(stream.id).redelivery();
}

void DripWatch::on_port_error(const core::Stream& stream, std::string_view port, const Error& error) {
  metrics_.stream(stream.id).port_error(port, error.code);
  const auto more = left_out(stream, port);
  if (!more) return;
  log_.error("port failed, the event stays and comes again", {{"stream", stream.id},
                                                              {"port", port},
                                                              {"error", to_string(error.code)},
                                                              {"detail", error.detail},
                                                              {"left_out", *more}});
}

}  // namespace dripgate::app
