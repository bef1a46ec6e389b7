// Request and Response: HTTP messages as the rest of the product sees them; no Beast type leaves src/http.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dripgate::http {

/// In wire order. Names are compared without case; a name may repeat.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// The value of the first header of that name, or null.
[[nodiscard]] const std::string* find(const Headers& headers, std::string_view name);
/// The same, where an absent header and an empty one mean the same.
[[nodiscard]] std::string_view value_of(const Headers& headers, std::string_view name);
/// Replaces every header of that name by this one.
void set(Headers& headers, std::string_view name, std::string value);
/// ASCII letters compared without case.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

/// Who is at the other end of the connection.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"; IPv4-mapped IPv6 as IPv4
  std::uint16_t port = 0;
  bool loopback = false;
  std::optional<std::string> client_certificate{};  // its subject, once verified against server.tls.clientCa
};

struct Request {
  std::string method;  // "GET"
  std::string target;  // as on the request line: "/v1/streams/payouts?after=3"
  Headers headers{};
  std::string body{};  // chunks joined
  Peer peer{};
};

struct Response {
  int status = 200;
  Headers headers{};  // Content-Length and Connection are added by the server
  std::string body{};
};

/// Takes the answer to one request; from any thread, once. Dropped uncalled: the client gets a 500.
using Reply = std::move_only_function<void(Response)>;
/// Called on the connection's io thread, from several threads at once when there are several loops.
using Handler = std::function<void(Request, Reply)>;
/// Looks at a request before its body is read (`body` is empty). An answer refuses it: the body is never
/// read.
using HeadCheck = std::function<std::optional<Response>(const Request&)>;

}  // namespace dripgate::http
