#include "support/redis/slow_proxy.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dripgate::testing {
namespace {

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Empty: closed.
std::string read_some(int from) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

SlowProxy::SlowProxy(std::uint16_t target) : target_(target) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("slow proxy: cannot listen on 127.0.0.1");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

SlowProxy::~SlowProxy() {
  stopping_ = true;
  thread_.join();
  for (const Line& line : lines_) {
    ::close(line.client);
    ::close(line.server);
  }
  ::close(listener_);
}

void SlowProxy::run() {
  while (!stopping_) {
    std::vector<pollfd> watched{{listener_, POLLIN, 0}};
    bool holds = false;
    for (const Line& line : lines_) {
      watched.push_back({line.client, POLLIN, 0});
      watched.push_back({line.server, POLLIN, 0});
      holds = holds || !line.replies.empty();
    }
    ::poll(watched.data(), watched.size(), holds ? 1 : 20);
    std::size_t at = 1;
    for (auto line = lines_.begin(); line != lines_.end(); at += 2) {
      const bool open = pass(*line, watched[at].revents, watched[at + 1].revents) && release(*line);
      if (!open) {
        ::close(line->client);
        ::close(line->server);
      }
      line = open ? std::next(line) : lines_.erase(line);
    }
    if ((watched[0].revents & POLLIN) != 0) accept_one();
  }
}

void SlowProxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(target_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  const int on = 1;
  for (const int socket : {client, server}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  lines_.push_back({.client = client, .server = server});
}

bool SlowProxy::pass(Line& line, short client_events, short server_events) {
  if (client_events != 0) {
    const std::string bytes = read_some(line.client);
    if (bytes.empty() || !write_all(line.server, bytes)) return false;
  }
  if (server_events != 0) {
    std::string bytes = read_some(line.server);
    if (bytes.empty()) return false;
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds{delay_.load()};
    line.replies.push_back({due, std::move(bytes)});
  }
  return true;
}

bool SlowProxy::release(Line& line) {
  const auto now = std::chrono::steady_clock::now();
  while (!line.replies.empty() && line.replies.front().due <= now) {
    if (!write_all(line.client, line.replies.front().bytes)) return false;
    line.replies.pop_front();
  }
  return true;
}

}  // namespace dripgate::testing
