#include "app/lines.h"

#include <utility>

namespace dripgate::app {

std::function<core::StreamPtr()> Lines::current_of(const std::string& stream) const {
  return [&snapshot = snapshot_, stream, seen = config::ConfigPtr{}, found = core::StreamPtr{}]() mutable {
    config::ConfigPtr config = snapshot.get();
    if (config == seen) return found;
    for (const config::StreamSettings& settings : config->streams) {
      if (settings.stream->id == stream) found = settings.stream;
    }
    seen = std::move(config);
    return found;
  };
}

void Lines::build(const LineContext& context,
                  const std::function<LinePorts(const config::StreamSettings&)>& ports_of) {
  const config::ConfigPtr config = snapshot_.get();
  for (const config::StreamSettings& settings : config->streams) {
    const std::string& id = settings.stream->id;
    lines_[id] = std::make_unique<StreamLine>(settings, current_of(id), context, ports_of(settings));
  }
}

void Lines::start(drip::Roles roles) {
  for (auto& [id, line] : lines_) {
    line->pipeline().start(roles);
    if (paused_.contains(id)) line->pipeline().pause();
  }
}

void Lines::shutdown(Duration wait, Task done) {
  struct Countdown {
    std::size_t open;
    Task done;
  };
  auto countdown = std::make_shared<Countdown>(lines_.size() + 1, std::move(done));
  auto arrive = [countdown](Result<void>) {
    if (--countdown->open == 0) countdown->done();
  };
  for (auto& [id, line] : lines_) line->pipeline().shutdown(wait, arrive);
  arrive({});
}

StreamLine* Lines::find(const std::string& stream) {
  const auto line = lines_.find(stream);
  return line == lines_.end() ? nullptr : line->second.get();
}

bool Lines::pause(const std::string& stream) {
  StreamLine* line = find(stream);
  if (line == nullptr) return false;
  paused_.insert(stream);
  line->pipeline().pause();
  return true;
}

bool Lines::resume(const std::string& stream) {
  StreamLine* line = find(stream);
  if (line == nullptr) return false;
  paused_.erase(stream);
  line->pipeline().resume();
  return true;
}

}  // namespace dripgate::app
