// Service: server::StreamService over the Engine. Thread-safe: every call becomes a task on the drip loop and
// is answered from there once its turn is durable. Ended after the HTTP server and the loop.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "app/engine.h"
#include "app/ingest.h"
#include "server/stream_service.h"

namespace dripgate::app {

class Service final : public server::StreamService {
 public:
  Service(runtime::Loop& loop, Clock& clock, Engine& engine, Ingest& ingest, const Health& health,
          std::vector<std::string> streams)
      : loop_(loop),
        clock_(clock),
        engine_(engine),
        ingest_(ingest),
        health_(health),
        streams_(std::move(streams)) {}

  [[nodiscard]] bool has_stream(const std::string& stream) const override;
  [[nodiscard]] std::vector<std::string> streams() const override { return streams_; }
  void ingest(std::string stream, std::vector<server::IngestEvent> events,
              Done<std::vector<server::IngestAnswer>> done) override;
  void status(std::string stream, Done<drip::PipelineStatus> done) override;
  void key_status(std::string stream, std::string key, Done<server::KeyStatus> done) override;
  void freeze(std::string stream, std::string key, WallTime until, Done<void> done) override;
  void thaw(std::string stream, std::string key, Done<void> done) override;
  void reset(std::string stream, std::string key, Done<void> done) override;
  void pause(std::string stream, Done<void> done) override;
  void resume(std::string stream, Done<void> done) override;
  void dead_letters(std::string stream, std::uint64_t after, std::size_t count,
                    Done<broker::DeadLetterPage> done) override;
  void dead_letter(std::string stream, std::uint64_t sequence,
                   Done<std::optional<broker::DeadLetter>> done) override;
  void replay(std::string stream, drip::ReplayRequest request, Done<std::uint64_t> done) override;
  void purge(std::string stream, std::optional<std::uint64_t> sequence, WallTime before,
             Done<std::uint64_t> done) override;
  [[nodiscard]] Readiness readiness() const override;
  [[nodiscard]] WallTime now() const override { return clock_.now(); }

 private:
  /// Runs `ask` on the loop with the stream's line, or answers not_found / unavailable.
  template <class T>
  void with_line(std::string stream, Done<T> done, std::move_only_function<void(StreamLine&, Done<T>)> ask);
  void purge_batch(std::string stream, WallTime before, std::uint64_t gone, Done<std::uint64_t> done);

  runtime::Loop& loop_;
  Clock& clock_;
  Engine& engine_;
  Ingest& ingest_;
  const Health& health_;
  const std::vector<std::string> streams_;
};

}  // namespace dripgate::app
