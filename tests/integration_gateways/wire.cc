#include "integration_gateways/wire.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dripgate::integration {
namespace {

constexpr timeval kIoPatience{.tv_sec = 30, .tv_usec = 0};
constexpr int kLookEveryMs = 20;  // whether the app is to stop

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Connected, or -1.
int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kIoPatience, sizeof kIoPatience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kIoPatience, sizeof kIoPatience);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

bool send_all(int socket, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t n = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

Message head_of(const std::string& text) {
  Message message;
  std::size_t at = text.find("\r\n");
  message.start = text.substr(0, at);
  while (at != std::string::npos && text.compare(at, 4, "\r\n\r\n") != 0) {
    const std::size_t begin = at + 2;
    at = text.find("\r\n", begin);
    const std::string line = text.substr(begin, at == std::string::npos ? at : at - begin);
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    message.headers.emplace_back(line.substr(0, colon),
                                 value == std::string::npos ? std::string() : line.substr(value));
  }
  return message;
}

/// One message: its body ends where Content-Length says, else with the connection.
Message receive(int socket, bool request) {
  std::string text;
  Message message;
  std::size_t head = 0, need = std::string::npos;
  char buffer[16384];
  while (need == std::string::npos || text.size() < need) {
    const ssize_t n = ::recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
    if (head != 0) continue;
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    head = end + 4;
    message = head_of(text.substr(0, head));
    const std::string length = message.header("Content-Length");
    if (length != "(none)" || request) need = head + std::strtoul(length.c_str(), nullptr, 10);
  }
  if (head != 0) message.body = text.substr(head);
  return message;
}

std::string answer_to(const Message& request) {
  const bool forbidden = request.start.contains(" /forbidden ");
  const bool broken = request.start.contains(" /broken ");
  return std::string("HTTP/1.1 ") +
         (forbidden ? "403 Forbidden"
          : broken  ? "500 Broken"
                    : "200 OK") +
         "\r\nCache-Control: public, max-age=300\r\nContent-Length: 7\r\nConnection: close\r\n\r\nthe app";
}

}  // namespace

int Message::status() const {
  return start.size() < 12 ? 0 : std::atoi(start.c_str() + 9);
}

std::string Message::header(const std::string& name) const {
  std::string joined;
  bool any = false;
  for (const auto& [key, value] : headers) {
    if (::strcasecmp(key.c_str(), name.c_str()) != 0) continue;
    if (any) joined += ", ";
    any = true;
    joined += value;
  }
  return any ? joined : "(none)";
}

Message ask(std::uint16_t port, const Ask& ask) {
  std::string text = ask.method + ' ' + ask.path + " HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n";
  for (const std::string& line : ask.headers) text += line + "\r\n";
  if (!ask.body.empty() || ask.method == "POST")
    text += "Content-Length: " + std::to_string(ask.body.size()) + "\r\n";
  const int socket = connect_to(port);
  if (socket < 0) return {};
  Message answer;
  // A refusal may come, and close, before a long body is written: it is read all the same.
  (void)send_all(socket, text + "\r\n" + ask.body);
  answer = receive(socket, false);
  ::close(socket);
  return answer;
}

bool accepts_connections(std::uint16_t port) {
  const int socket = connect_to(port);
  if (socket >= 0) ::close(socket);
  return socket >= 0;
}

SmallApp::SmallApp() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error(std::string("the app cannot listen: ") + std::strerror(errno));
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

SmallApp::~SmallApp() {
  stop();
}

void SmallApp::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
}

void SmallApp::serve() {
  while (!stopping_) {
    pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kLookEveryMs) <= 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kIoPatience, sizeof kIoPatience);
    Message request = receive(socket, true);
    if (!request.start.empty()) {
      const std::string answer = answer_to(request);
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(std::move(request));
      }
      (void)send_all(socket, answer);
    }
    ::close(socket);
  }
}

std::size_t SmallApp::count() const {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

Message SmallApp::last() const {
  const std::lock_guard lock(mutex_);
  return seen_.empty() ? Message{} : seen_.back();
}

}  // namespace dripgate::integration
