// IoLoop over boost::asio::io_context.
#include "net/io_loop.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/io_loop_impl.h"

namespace dripgate::net {

namespace asio = boost::asio;

namespace {

// steady_clock counts nanoseconds: longer waits would overflow it.
constexpr Duration kWaitMax = std::chrono::hours{24 * 365};

}  // namespace

IoLoop::IoLoop() : impl_(std::make_shared<Impl>()) {}
IoLoop::~IoLoop() = default;

void IoLoop::run() {
  impl_->context.run();
}

void IoLoop::run_for(Duration span) {
  impl_->context.restart();
  impl_->context.run_for(span);
}

void IoLoop::stop() {
  impl_->context.stop();
}

void IoLoop::post(Task task) {
  asio::post(impl_->context, std::move(task));
}

MonoTime IoLoop::now() const {
  return std::chrono::floor<Duration>(asio::steady_timer::clock_type::now());
}

void IoLoop::post_after(Duration delay, Task task) {
  auto timer = std::make_unique<asio::steady_timer>(impl_->context, std::clamp(delay, Duration{0}, kWaitMax));
  asio::steady_timer& waiting = *timer;
  waiting.async_wait(
      [timer = std::move(timer), task = std::move(task)](const boost::system::error_code& ec) mutable {
        if (!ec) task();
      });
}

}  // namespace dripgate::net
