// Message heads as text.
#include "http/wire.h"

#include "http/problem.h"

namespace dripgate::http {

namespace {

constexpr std::size_t kHeadBytesUsual = 512;  // a head that fits grows its text once

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}

void append_clean(std::string& out, std::string_view text) {
  bool clean = true;
  for (const char c : text) clean &= !is_control(c);
  if (clean) {
    out += text;
    return;
  }
  for (const char c : text) out += is_control(c) ? ' ' : c;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  append_clean(out, name);
  out += ": ";
  append_clean(out, value);
  out += "\r\n";
}

bool framing_header(std::string_view name) {
  return same_name(name, "Content-Length") || same_name(name, "Connection") ||
         same_name(name, "Transfer-Encoding");
}

}  // namespace

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void append_answer_head(std::string& out, const Response& response, bool keep_alive) {
  out.reserve(out.size() + kHeadBytesUsual);
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  for (const auto& [name, value] : response.headers) {
    if (!framing_header(name)) append_header(out, name, value);
  }
  if (has_body(response.status)) append_header(out, "Content-Length", std::to_string(response.body.size()));
  append_header(out, "Connection", keep_alive ? "keep-alive" : "close");
  out += "\r\n";
}

std::string request_head(std::string_view method, std::string_view target, std::string_view authority,
                         const Headers& headers, std::size_t body_bytes) {
  std::string out;
  append_clean(out, method);
  out += ' ';
  append_clean(out, target);
  out += " HTTP/1.1\r\n";
  append_header(out, "Host", authority);
  for (const auto& [name, value] : headers) {
    if (!framing_header(name) && !same_name(name, "Host")) append_header(out, name, value);
  }
  if (body_bytes > 0 || method != "GET") append_header(out, "Content-Length", std::to_string(body_bytes));
  out += "\r\n";
  return out;
}

}  // namespace dripgate::http
