// ServerCore: what all connections of one Server share: bounds, the handler, the counts. Inside src/http
// only. Counts are relaxed atomics; a LoopShare is touched by its loop's thread only.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_set>
#include <vector>

#include "http/server.h"
#include "net/io_loop_impl.h"
#include "net/tls.h"

namespace dripgate::http {

class Connection;

// Weak: a suspended connection lives inside its io_context and must not keep that alive.
struct LoopShare {
  explicit LoopShare(const std::shared_ptr<net::IoLoop::Impl>& of) : loop(of), context(of->context) {}
  std::weak_ptr<net::IoLoop::Impl> loop;
  boost::asio::io_context& context;
  std::unordered_set<Connection*> connections;
};

struct ServerCore {
  ServerOptions options;
  Handler handler;
  net::TlsContext tls;  // null: plain
  std::vector<std::unique_ptr<LoopShare>> shares;

  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> in_flight{0};
  std::atomic<std::size_t> body_bytes{0};
  std::function<void()> on_last_closed;  // set once before stopping
};

/// Counts up and, when it goes out of scope, down again.
class Counted {
 public:
  Counted(std::atomic<std::size_t>& total, std::size_t amount) : total_(total), amount_(0) { add(amount); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { total_.fetch_sub(amount_, std::memory_order_relaxed); }
  /// The total afterwards.
  std::size_t add(std::size_t amount) {
    amount_ += amount;
    return total_.fetch_add(amount, std::memory_order_relaxed) + amount;
  }
  [[nodiscard]] std::size_t amount() const { return amount_; }

 private:
  std::atomic<std::size_t>& total_;
  std::size_t amount_;
};

}  // namespace dripgate::http
