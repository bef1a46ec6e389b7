#include "app/service.h"

#include <algorithm>
#include <utility>

#include "app/turn.h"
#include "core/stream.h"

namespace dripgate::app {

bool Service::has_stream(const std::string& stream) const {
  return std::ranges::find(streams_, stream) != streams_.end();
}

template <class T>
void Service::with_line(std::string stream, Done<T> done,
                        std::move_only_function<void(StreamLine&, Done<T>)> ask) {
  loop_.post([this, stream = std::move(stream), done = std::move(done), ask = std::move(ask)]() mutable {
    if (!has_stream(stream)) {
      return done(fail(ErrorCode::not_found, "stream '" + stream + "' is not in the config"));
    }
    StreamLine* line = engine_.find(stream);
    if (line == nullptr) {
      return done(fail(ErrorCode::unavailable, "the store does not work right now: see /readyz", true));
    }
    ask(*line, std::move(done));
  });
}

void Service::ingest(std::string stream, std::vector<server::IngestEvent> events,
                     Done<std::vector<server::IngestAnswer>> done) {
  const auto weight = ingest_.enter(events);
  if (!weight) return done(std::unexpected(weight.error()));
  auto leaving = [this, weight = *weight, done = std::move(done)](auto answers) mutable {
    ingest_.leave(weight);
    done(std::move(answers));
  };
  with_line<std::vector<server::IngestAnswer>>(
      std::move(stream), std::move(leaving),
      [this, events = std::move(events)](StreamLine& line, auto call) mutable {
        ingest_.append(line, std::move(events), std::move(call));
      });
}

void Service::status(std::string stream, Done<drip::PipelineStatus> done) {
  with_line<drip::PipelineStatus>(std::move(stream), std::move(done), [](StreamLine& line, auto call) {
    line.pipeline().status(std::move(call));
  });
}

void Service::key_status(std::string stream, std::string key, Done<server::KeyStatus> done) {
  std::string full = core::booking_key(stream, key);
  with_line<server::KeyStatus>(
      std::move(stream), std::move(done), [this, full = std::move(full)](StreamLine& line, auto call) {
        engine_.bookings().inspect(full, line.stream()->booking,
                                   [full, call = std::move(call)](Result<core::KeyView> view) mutable {
                                     if (!view) return call(std::unexpected(view.error()));
                                     call(server::KeyStatus{full, std::move(*view)});
                                   });
      });
}

void Service::freeze(std::string stream, std::string key, WallTime until, Done<void> done) {
  std::string full = core::booking_key(stream, key);
  with_line<void>(std::move(stream), std::move(done),
                  [this, full = std::move(full), until](StreamLine&, auto call) {
                    engine_.bookings().freeze(full, until, durable(engine_, std::move(call)));
                  });
}

void Service::thaw(std::string stream, std::string key, Done<void> done) {
  std::string full = core::booking_key(stream, key);
  with_line<void>(std::move(stream), std::move(done), [this, full = std::move(full)](StreamLine&, auto call) {
    engine_.bookings().thaw(full, durable(engine_, std::move(call)));
  });
}

void Service::reset(std::string stream, std::string key, Done<void> done) {
  std::string full = core::booking_key(stream, key);
  with_line<void>(std::move(stream), std::move(done), [this, full = std::move(full)](StreamLine&, auto call) {
    engine_.bookings().reset(full, durable(engine_, std::move(call)));
  });
}

void Service::pause(std::string stream, Done<void> done) {
  std::string id = stream;
  with_line<void>(std::move(stream), std::move(done), [this, id = std::move(id)](StreamLine&, auto call) {
    engine_.pause(id);
    call({});
  });
}

void Service::resume(std::string stream, Done<void> done) {
  std::string id = stream;
  with_line<void>(std::move(stream), std::move(done), [this, id = std::move(id)](StreamLine&, auto call) {
    engine_.resume(id);
    call({});
  });
}

void Service::dead_letters(std::string stream, std::uint64_t after, std::size_t count,
                           Done<broker::DeadLetterPage> done) {
  with_line<broker::DeadLetterPage>(std::move(stream), std::move(done),
                                    [after, count](StreamLine& line, auto call) {
                                      line.dead_letters().list(after, count, std::move(call));
                                    });
}

void Service::dead_letter(std::string stream, std::uint64_t sequence,
                          Done<std::optional<broker::DeadLetter>> done) {
  with_line<std::optional<broker::DeadLetter>>(
      std::move(stream), std::move(done),
      [sequence](StreamLine& line, auto call) { line.dead_letters().find(sequence, std::move(call)); });
}

void Service::replay(std::string stream, drip::ReplayRequest request, Done<std::uint64_t> done) {
  with_line<std::uint64_t>(std::move(stream), std::move(done), [this, request](StreamLine& line, auto call) {
    line.pipeline().replay(request, durable(engine_, std::move(call)));
  });
}

void Service::purge(std::string stream, std::optional<std::uint64_t> sequence, WallTime before,
                    Done<std::uint64_t> done) {
  if (!sequence) return purge_batch(std::move(stream), before, 0, std::move(done));
  with_line<std::uint64_t>(
      std::move(stream), std::move(done), [this, sequence = *sequence](StreamLine& line, auto call) {
        line.dead_letters().remove(sequence,
                                   [call = durable(engine_, std::move(call))](Result<bool> removed) mutable {
                                     if (!removed) return call(std::unexpected(removed.error()));
                                     call(std::uint64_t{*removed ? 1u : 0u});
                                   });
      });
}

void Service::purge_batch(std::string stream, WallTime before, std::uint64_t gone, Done<std::uint64_t> done) {
  std::string id = stream;
  with_line<std::uint64_t>(std::move(stream), std::move(done),
                           [this, id = std::move(id), before, gone](StreamLine& line, auto call) mutable {
                             auto next = [this, id = std::move(id), before, gone,
                                          call = std::move(call)](Result<std::uint64_t> batch) mutable {
                               if (!batch) return call(std::unexpected(batch.error()));
                               if (*batch == 0) return call(gone);
                               // One batch per turn: dispatch goes on in between.
                               purge_batch(std::move(id), before, gone + *batch, std::move(call));
                             };
                             line.dead_letters().purge(before,
                                                       durable<std::uint64_t>(engine_, std::move(next)));
                           });
}

Service::Readiness Service::readiness() const {
  Readiness readiness;
  readiness.reasons = health_.reasons();
  readiness.ready = readiness.reasons.empty();
  readiness.warnings = health_.warnings();
  readiness.config = health_.config();
  return readiness;
}

}  // namespace dripgate::app
