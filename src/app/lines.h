// Lines: the StreamLine of every stream of the config, and which of them a person has paused. Owned by the
// Engine, built as often as its store asks for it. On the loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/stream_line.h"
#include "config/snapshot.h"

namespace dripgate::app {

class Lines {
 public:
  explicit Lines(const config::Snapshot& snapshot) : snapshot_(snapshot) {}

  void build(const LineContext& context,
             const std::function<LinePorts(const config::StreamSettings&)>& ports_of);
  void start(drip::Roles roles);
  /// As a crash would: nothing is lost by it.
  void end() { lines_.clear(); }
  /// Ordered end of every pipeline.
  void shutdown(Duration wait, Task done);

  [[nodiscard]] StreamLine* find(const std::string& stream);
  bool pause(const std::string& stream);
  bool resume(const std::string& stream);
  [[nodiscard]] bool paused(const std::string& stream) const { return paused_.contains(stream); }

 private:
  [[nodiscard]] std::function<core::StreamPtr()> current_of(const std::string& stream) const;

  const config::Snapshot& snapshot_;
  std::map<std::string, std::unique_ptr<StreamLine>> lines_;
  std::set<std::string> paused_;
};

}  // namespace dripgate::app
