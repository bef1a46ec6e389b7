// Gather: the status of every stream, asked at once, handed over when the last one has answered.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/stream_service.h"

namespace dripgate::server {

struct GatheredStatus {
  std::string stream;
  Result<drip::PipelineStatus> status;
};

/// `done` runs on the thread of the last answer, or at once where there is no stream.
inline void gather_status(StreamService& service,
                          std::move_only_function<void(std::vector<GatheredStatus>)> done) {
  struct Open {
    std::mutex mutex;
    std::vector<GatheredStatus> all;
    std::size_t missing;
    std::move_only_function<void(std::vector<GatheredStatus>)> done;
  };
  const std::vector<std::string> streams = service.streams();
  if (streams.empty()) return done({});
  auto open = std::make_shared<Open>();
  open->missing = streams.size();
  open->done = std::move(done);
  for (const auto& stream : streams) open->all.push_back({stream, drip::PipelineStatus{}});
  for (std::size_t i = 0; i < streams.size(); ++i) {
    service.status(streams[i], [open, i](Result<drip::PipelineStatus> status) {
      {
        const std::scoped_lock lock(open->mutex);
        open->all[i].status = std::move(status);
        if (--open->missing > 0) return;
      }
      open->done(std::move(open->all));
    });
  }
}

}  // namespace dripgate::server
