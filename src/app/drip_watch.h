// DripWatch: listens to every pipeline: counts for /metrics, verdicts for waiting ingest calls, a log line
// for what a person must know. On the loop.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "drip/observer.h"
#include "obs/log.h"
#include "obs/metrics.h"

namespace dripgate::app {

/// The same happening of a stream is logged at most this often (real time); the next line says how many were
/// left out. The kinds are few: ports and reasons.
inline constexpr Duration kSameLineEvery = 5s;

class DripWatch final : public drip::Observer {
 public:
  using VerdictTaker = std::function<void(const std::string& stream, const drip::EventVerdict&)>;

  DripWatch(obs::Metrics& metrics, obs::Log& log, VerdictTaker verdicts)
      : metrics_(metrics), log_(log), verdicts_(std::move(verdicts)) {}

  /// Counts of lines that were left out and that no later line of their kind has told. From time to time.
  void say_left_out();

  void on_verdict(const core::Stream& stream, const drip::EventVerdict& verdict) override;
  void on_release(const core::Stream& stream, std::string_view key, std::string_view event_id,
                  WallTime released, Duration late) override;
  void on_rebook(const core::Stream& stream, std::string_view key, WallTime slot) override;
  void on_delivery(const core::Stream& stream, std::string_view event_id,
                   const broker::SinkAnswer& answer) override;
  void on_dead_letter(const core::Stream& stream, std::string_view event_id,
                      std::string_view reason) override;
  void on_missing_key(const core::Stream& stream) override;
  void on_redelivery(const core::Stream& stream) override;
  void on_port_error(const core::Stream& stream, std::string_view port, const Error& error) override;

 private:
  struct Muted {
    MonoTime until;
    std::int64_t lines = 0;  // left out since the last one
  };
  /// How many lines of this kind were left out; empty: leave this one out too.
  std::optional<std::int64_t> left_out(const core::Stream& stream, std::string_view kind);

  obs::Metrics& metrics_;
  obs::Log& log_;
  VerdictTaker verdicts_;
  std::map<std::string, Muted> muted_;  // by stream and kind
};

}  // namespace dripgate::app
