// Endpoints: see endpoint.h.
#include "config/endpoint.h"

#include <algorithm>
#include <charconv>

#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kUrlBytesMax = 2'048;
constexpr std::size_t kHostBytesMax = 253;
constexpr std::string_view kListenForms = "accepted: host:port, such as 127.0.0.1:8080 or [::1]:8080";

bool is_host(std::string_view host, bool bracketed) {
  const auto fits = [&](char c) {
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (bracketed) return hex || c == ':' || c == '.';
    return hex || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= kHostBytesMax && std::ranges::all_of(host, fits);
}

std::optional<std::uint16_t> to_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

// "host", "host:port", "[::1]:port"; without a port, `absent`.
std::optional<HostPort> split_host_port(std::string_view text, std::optional<std::uint16_t> absent) {
  const bool bracketed = text.starts_with('[');
  const std::size_t close = bracketed ? text.find(']') : 0;
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t colon = text.find(':', close);
  const std::size_t host_end = bracketed ? close : std::min(colon, text.size());
  const std::string_view host = text.substr(bracketed ? 1 : 0, host_end - (bracketed ? 1 : 0));
  if (!is_host(host, bracketed)) return std::nullopt;
  if (bracketed && colon != close + 1 && close + 1 != text.size()) return std::nullopt;
  const auto port = colon == std::string_view::npos ? absent : to_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return HostPort{std::string(host), *port};
}

std::string_view url_problem(std::string_view text) {
  const bool plain = text.starts_with("http://");
  if (!plain && !text.starts_with("https://")) return "it does not start with http:// or https://";
  const std::string_view rest = text.substr(plain ? 7 : 8);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) return "a user name or password is a secret";
  if (rest.find('#') != std::string_view::npos) return "it has a '#'";
  const auto visible = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7F; };
  if (!std::ranges::all_of(rest, visible)) return "it has a space";
  const auto target = split_host_port(authority, std::uint16_t{80});
  if (!target || target->port == 0) return "host or port is wrong";
  return {};
}

}  // namespace

std::optional<HostPort> read_listen(const Node& node, Report& report) {
  const auto parsed =
      node.kind == Node::Kind::scalar ? split_host_port(node.text, std::nullopt) : std::nullopt;
  if (parsed) return parsed;
  const std::string is = node.kind == Node::Kind::scalar ? " is " + in_quotes(node.text) : " is not one word";
  report.error(node.at, "listen" + is + "; " + std::string(kListenForms));
  return std::nullopt;
}

std::optional<HostPort> read_node(const Node& node, std::string_view what, std::uint16_t absent,
                                  Report& report) {
  const auto parsed = node.kind == Node::Kind::scalar
                          ? split_host_port(node.text, absent == 0 ? std::nullopt : std::optional(absent))
                          : std::nullopt;
  if (parsed && parsed->port != 0) return parsed;
  const std::string is = node.kind == Node::Kind::scalar ? " is " + in_quotes(node.text) : " is not one word";
  report.error(node.at, std::string(what) + is + "; accepted: host:port, such as redis-1.internal:6379");
  return std::nullopt;
}

std::string_view parse_redis_url(std::string_view text, RedisUrl& url) {
  url.tls = text.starts_with("rediss://");
  if (!url.tls && !text.starts_with("redis://")) return "it does not start with redis:// or rediss://";
  std::string_view rest = text.substr(url.tls ? 9 : 8);
  if (const std::size_t slash = rest.rfind('/'); slash != std::string_view::npos) {
    const std::string_view number = rest.substr(slash + 1);
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), url.database);
    const bool whole = code == std::errc{} && end == number.data() + number.size();
    if (!number.empty() && (!whole || url.database < 0 || url.database > 15)) {
      return "the database is not a number from 0 to 15";
    }
    rest = rest.substr(0, slash);
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const std::size_t colon = login.find(':');
    url.user = login.substr(0, colon);
    if (colon != std::string_view::npos) url.password = login.substr(colon + 1);
    rest = rest.substr(at + 1);
  }
  const auto target = split_host_port(rest, std::uint16_t{6379});
  if (!target || target->port == 0) return "host or port is wrong";
  url.at = *target;
  return {};
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  const bool numeric = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return numeric && host.starts_with("127.") && std::ranges::count(host, '.') == 3;
}

std::string read_url(const Node& node, std::string_view what, Report& report) {
  const auto text = read_text(node, what, kUrlBytesMax, report);
  if (!text) return {};
  const std::string_view problem = url_problem(*text);
  if (problem.empty()) return *text;
  // What stands before an '@' may be a password: it is not repeated.
  const std::string shown = text->find('@') == std::string::npos ? " " + in_quotes(*text) : "";
  report.error(node.at, std::string(what) + " url" + shown + ": " + std::string(problem) +
                            "; accepted: http://host[:port]/path or https://host[:port]/path");
  return {};
}

}  // namespace dripgate::config
