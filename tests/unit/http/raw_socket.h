// A bare TCP client for tests that must say what no HTTP client would say, and the loop they share with the
// server.
#pragma once

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/io_loop.h"

namespace dripgate::http::testing {

/// Runs the loop until `done` holds; false: it did not within `most` of real time.
inline bool run_until(net::IoLoop& loop, const std::function<bool()>& done,
                      Duration most = std::chrono::seconds{20}) {
  static constexpr Duration kSlice = std::chrono::milliseconds{1};
  for (Duration spent{}; !done(); spent += kSlice) {
    if (spent > most) return false;
    loop.run_for(kSlice);
  }
  return true;
}

class RawSocket {
 public:
  RawSocket(net::IoLoop& loop, std::uint16_t port) : loop_(loop), fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~RawSocket() { ::close(fd_); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }

  /// Sends all, letting the server run meanwhile. False: the server closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
      if (n < 0 && errno != EAGAIN) return false;
      loop_.run_for(std::chrono::milliseconds{n > 0 ? 0 : 1});
    }
    return true;
  }

  /// Sends all in one piece while the server does not run.
  void send_unserved(std::string_view bytes) {
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("a socket did not take " + std::to_string(bytes.size()) + " bytes");
  }

  /// Everything received so far, once it holds `text`. Empty when it never does.
  std::string receive_until(std::string_view text) {
    const bool there = run_until(
        loop_,
        [&] {
          read_available();
          return received_.find(text) != std::string::npos;
        },
        std::chrono::seconds{5});
    return there ? received_ : "";
  }
  bool closed_by_server(Duration most = std::chrono::seconds{5}) {
    return run_until(
        loop_,
        [&] {
          read_available();
          return ended_;
        },
        most);
  }
  /// Reads what is there, without waiting.
  const std::string& received() {
    read_available();
    return received_;
  }
  void end_writing() { ::shutdown(fd_, SHUT_WR); }

 private:
  void read_available() {
    char block[65536];
    for (;;) {
      const ssize_t n = ::recv(fd_, block, sizeof block, 0);
      if (n > 0) {
        received_.append(block, static_cast<std::size_t>(n));
        continue;
      }
      ended_ = ended_ || n == 0 || errno != EAGAIN;
      return;
    }
  }

  net::IoLoop& loop_;
  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string received_;
};

}  // namespace dripgate::http::testing
