// Deadline: closes a connection that takes too long over what it is at. Its timer runs on behind deadlines
// that move away, which they do with every request, and is set anew only for one that comes nearer. Inside
// src/http only; everything on its loop's thread.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "base/guard.h"
#include "base/time.h"
#include "http/transport.h"

namespace dripgate::http {

class Deadline {
 public:
  /// Both outlive this.
  Deadline(boost::asio::io_context& context, Transport& transport) : timer_(context), transport_(transport) {}

  /// From now; replaces the one before.
  void within(Duration span) {
    due_ = Timer::clock_type::now() + span;
    if (waiting_ && timer_.expiry() <= due_) return;
    wait();
  }
  void never() { due_ = Timer::time_point::max(); }

 private:
  using Timer = boost::asio::steady_timer;

  void wait() {
    waiting_ = true;
    timer_.expires_at(due_);
    timer_.async_wait(guard_.wrap([this](const error_code& ec) {
      if (ec) return;  // set anew
      waiting_ = false;
      if (due_ == Timer::time_point::max()) return;
      Timer::clock_type::now() < due_ ? wait() : transport_.close();
    }));
  }

  Timer timer_;
  Transport& transport_;
  Timer::time_point due_ = Timer::time_point::max();
  bool waiting_ = false;
  Guard guard_;
};

}  // namespace dripgate::http
