// ReplySlot: where the answer to a connection's request arrives: mostly before the handler has returned, else
// later and from any thread. One per connection, used for one request after the other. Inside src/http only.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "http/message.h"
#include "http/problem.h"
#include "net/io_loop_impl.h"

namespace dripgate::http {

class ReplySlot : public std::enable_shared_from_this<ReplySlot> {
 public:
  /// For the next request. `loop` is kept until it is answered, so that a late reply finds it alive.
  [[nodiscard]] Reply open(std::shared_ptr<net::IoLoop::Impl> loop) {
    loop_ = std::move(loop);
    state_.store(State::open, std::memory_order_relaxed);
    return Ticket(shared_from_this());
  }

  /// On the loop. Empty: it is not here yet.
  [[nodiscard]] std::optional<Response> take() {
    if (state_.load(std::memory_order_acquire) != State::answered) return std::nullopt;
    loop_.reset();
    return std::move(response_);
  }
  /// On the loop, once after an empty take(): `resume` runs there when the answer can be taken.
  void await(Task resume) {
    resume_ = std::move(resume);
    State seen = State::open;
    if (!state_.compare_exchange_strong(seen, State::awaited, std::memory_order_acq_rel)) wake();
  }

 private:
  enum class State : unsigned char { open, awaited, answered };

  /// Dropped uncalled, it answers 500: a client never waits for nothing.
  class Ticket {
   public:
    explicit Ticket(std::shared_ptr<ReplySlot> slot) : slot_(std::move(slot)) {}
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {  // NOLINT(bugprone-exception-escape): out of memory ends the process
      if (slot_) (*this)(problem(500, "internal", "the request was dropped"));
    }
    void operator()(Response response) {
      if (const auto slot = std::exchange(slot_, nullptr)) slot->answer(std::move(response));
    }

   private:
    std::shared_ptr<ReplySlot> slot_;
  };

  void answer(Response response) {
    response_ = std::move(response);
    // Unless it is awaited, all of this is the loop's from here on.
    if (state_.exchange(State::answered, std::memory_order_acq_rel) == State::awaited) wake();
  }
  /// What waits is handed over: a loop that ends unrun destroys it, and the connection with it.
  void wake() {
    const auto loop = std::move(loop_);  // kept, it would be held by what waits on it
    boost::asio::post(loop->context, std::exchange(resume_, nullptr));
  }

  std::atomic<State> state_{State::answered};
  Response response_;
  Task resume_;
  std::shared_ptr<net::IoLoop::Impl> loop_;
};

}  // namespace dripgate::http
