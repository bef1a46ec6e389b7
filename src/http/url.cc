// URLs and request targets. Pure; the client, the sink and the routes call it.
#include "http/url.h"

#include <charconv>

namespace dripgate::http {

namespace {

std::unexpected<Error> bad_url(std::string_view text, std::string_view why) {
  return fail(ErrorCode::invalid_argument,
              "url '" + std::string(text) + "': " + std::string(why) +
                  "; accepted: http://host[:port]/path or https://host[:port]/path");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool plain_text(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return false;
  }
  return true;
}

bool host_text(std::string_view host, bool bracketed) {
  if (host.empty()) return false;
  for (const char c : host) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '.' || c == '_';
    if (!word && !(bracketed && c == ':')) return false;
  }
  return true;
}

// Splits "host", "host:port", "[::1]:port". False: malformed.
bool split_authority(std::string_view authority, Url& url) {
  std::string_view port;
  const bool bracketed = authority.starts_with('[');
  if (bracketed) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return false;
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const auto colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (!host_text(url.host, bracketed)) return false;
  if (port.empty()) return true;
  if (port[0] != ':') return false;
  port.remove_prefix(1);
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  return code == std::errc{} && end == port.data() + port.size() && url.port != 0;
}

}  // namespace

std::string Url::authority() const {
  std::string text = host.contains(':') ? "[" + host + "]" : host;
  if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    url.tls = true;
    url.port = 443;
  } else {
    return bad_url(text, "the scheme is neither http nor https");
  }
  if (!plain_text(rest)) return bad_url(text, "it holds a space or a control character");
  if (rest.contains('#')) return bad_url(text, "a fragment means nothing here");
  const auto slash = rest.find_first_of("/?");
  const std::string_view authority = rest.substr(0, slash);
  if (authority.contains('@')) return bad_url(text, "a user name in a URL is not taken");
  if (!split_authority(authority, url)) return bad_url(text, "host or port is malformed");
  url.target = slash == std::string_view::npos ? "/" : std::string(rest.substr(slash));
  if (url.target[0] == '?') url.target.insert(0, "/");
  return url;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '.' || c == '_' || c == '~';
    if (kept) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::optional<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  Target out;
  const auto question = target.find('?');
  std::string_view path = target.substr(1, question == std::string_view::npos ? question : question - 1);
  for (;;) {
    const auto slash = path.find('/');
    auto segment = percent_decode(path.substr(0, slash));
    if (!segment) return std::nullopt;
    out.segments.push_back(std::move(*segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  if (question == std::string_view::npos) return out;
  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    const auto end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const auto equals = pair.find('=');
    auto name = percent_decode(pair.substr(0, equals));
    auto value = percent_decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    if (!name || !value) return std::nullopt;
    if (!pair.empty()) out.query.emplace_back(std::move(*name), std::move(*value));
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace dripgate::http
