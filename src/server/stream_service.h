// StreamService: what the HTTP routes ask of the process behind them. app implements it over drip::Pipeline
// and the stores. Thread-safe; each callback runs exactly once, on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/dead_letter.h"
#include "core/booking_types.h"
#include "drip/pipeline.h"

namespace dripgate::server {

struct IngestEvent {
  std::string id;    // explicit (Dripgate-Id header, or derived from it for a line); empty: the stream's
                     // eventId template, else fallback_id, else one is made
  std::string body;  // exact bytes of the event
  broker::Attributes attributes;  // traceparent and Dripgate-Attr-* headers
  std::string fallback_id{};  // taken as explicit where the template cannot be rendered: <Dripgate-Id>-<line>
};

struct IngestAnswer {
  std::string id;
  drip::EventVerdict verdict;
  bool accepted_only = false;  // stored durably, no verdict within kIngestVerdictWait
  std::optional<Error> error;  // refused: nothing of this event was stored (full, too_large, ...)
};

/// Which config this process runs.
struct ConfigState {
  std::string version{};                 // of the set in force
  WallTime applied{};                    // since when it is, by this host's clock
  std::optional<std::int64_t> reload{};  // the last reload asked for by message that it has acted on
  std::string refused{};                 // why the file as it stands now is not in force; empty: it is

  friend bool operator==(const ConfigState&, const ConfigState&) = default;
};

struct KeyStatus {
  std::string key;  // the full booking key
  core::KeyView view;
};

class StreamService {
 public:
  virtual ~StreamService() = default;
  [[nodiscard]] virtual bool has_stream(const std::string& stream) const = 0;
  [[nodiscard]] virtual std::vector<std::string> streams() const = 0;

  /// Appends all events durably in one commit and waits at most kIngestVerdictWait for the pipeline's
  /// verdicts. Errors: not_found, full, unavailable.
  virtual void ingest(std::string stream, std::vector<IngestEvent> events,
                      Done<std::vector<IngestAnswer>> done) = 0;

  virtual void status(std::string stream, Done<drip::PipelineStatus> done) = 0;
  /// `key` as rendered by the stream's template ("merchant_8421:payout"), without the stream's prefix.
  virtual void key_status(std::string stream, std::string key, Done<KeyStatus> done) = 0;
  virtual void freeze(std::string stream, std::string key, WallTime until, Done<void> done) = 0;
  virtual void thaw(std::string stream, std::string key, Done<void> done) = 0;
  virtual void reset(std::string stream, std::string key, Done<void> done) = 0;
  virtual void pause(std::string stream, Done<void> done) = 0;
  virtual void resume(std::string stream, Done<void> done) = 0;

  virtual void dead_letters(std::string stream, std::uint64_t after, std::size_t count,
                            Done<broker::DeadLetterPage> done) = 0;
  virtual void dead_letter(std::string stream, std::uint64_t sequence,
                           Done<std::optional<broker::DeadLetter>> done) = 0;
  virtual void replay(std::string stream, drip::ReplayRequest request, Done<std::uint64_t> done) = 0;
  /// One letter, or all older than `before`; answers how many are gone.
  virtual void purge(std::string stream, std::optional<std::uint64_t> sequence, WallTime before,
                     Done<std::uint64_t> done) = 0;

  struct Readiness {
    bool ready = true;
    std::vector<std::string> reasons;   // one sentence each, when not ready
    std::vector<std::string> warnings;  // what works, but promises less: a setting of the store
    ConfigState config{};
  };
  [[nodiscard]] virtual Readiness readiness() const = 0;
  [[nodiscard]] virtual WallTime now() const = 0;
};

}  // namespace dripgate::server
