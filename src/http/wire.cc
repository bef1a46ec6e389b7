// Message heads as text.
#include "http/wire.h"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "http/problem.h"

namespace dripgate::http {

namespace {

constexpr std::size_t kHeadBytesUsual = 512;  // a head that fits grows its text once

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}

/// Copied first and cleaned where it stands: what is clean, as nearly all is, is looked at eight bytes at a
/// time. The mask has the high bit of each byte below ' ' or equal to DEL; one above it may be taken for one
/// too, and is then looked at alone.
void append_clean(std::string& out, std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::size_t from = out.size();
  out += text;
  std::size_t at = from;
  for (; at + 8 <= out.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, out.data() + at, 8);
    const std::uint64_t del = word ^ kOnes * 0x7f;
    const std::uint64_t suspects = ((word - kOnes * ' ') & ~word) | ((del - kOnes) & ~del);
    if ((suspects & kOnes * 0x80) == 0) continue;
    for (std::size_t i = at; i < at + 8; ++i)
      if (is_control(out[i])) out[i] = ' ';
  }
  for (; at < out.size(); ++at)
    if (is_control(out[at])) out[at] = ' ';
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  append_clean(out, name);
  out += ": ";
  append_clean(out, value);
  out += "\r\n";
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
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
  append_number(out, static_cast<std::uint64_t>(response.status));
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  for (const auto& [name, value] : response.headers) {
    if (!framing_header(name)) append_header(out, name, value);
  }
  if (has_body(response.status)) {
    out += "Content-Length: ";
    append_number(out, response.body.size());
    out += "\r\n";
  }
  out += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
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
