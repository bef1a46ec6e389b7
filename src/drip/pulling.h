// Pulling: whether the sources and the timer may bring more. Three reasons can stop them: the operator's
// pause, a failing port (brake.h), the end. On the executor.
#pragma once

#include "drip/pipeline.h"

namespace dripgate::drip {

class Pulling {
 public:
  explicit Pulling(Ports& ports) : ports_(ports) {}

  /// Only what was started is ever told.
  void started(Roles roles) {
    roles_ = roles;
    set(started_, true);
  }
  void pause(bool on) { set(paused_, on); }
  void hold(bool on) { set(held_, on); }
  void stop() { set(stopping_, true); }

  [[nodiscard]] bool paused() const { return paused_; }
  /// What comes now was already on its way: it goes back.
  [[nodiscard]] bool turned_away() const { return held_ || stopping_; }

 private:
  void set(bool& reason, bool on) {
    reason = on;
    const bool pull = started_ && !paused_ && !held_ && !stopping_;
    if (started_ && pull == pulling_) return;
    if (!started_) return;
    pulling_ = pull;
    if (roles_.intake) pull ? ports_.source.resume() : ports_.source.pause();
    if (roles_.consume) pull ? ports_.overflow_source.resume() : ports_.overflow_source.pause();
    if (roles_.dispatch) pull ? ports_.timer.resume() : ports_.timer.pause();
  }

  Ports& ports_;
  Roles roles_;
  bool started_ = false;
  bool paused_ = false;
  bool held_ = false;
  bool stopping_ = false;
  bool pulling_ = true;  // sources pull once they are started
};

}  // namespace dripgate::drip
