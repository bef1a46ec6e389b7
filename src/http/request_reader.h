// RequestReader: bytes in, requests out; no socket. Beast's parser does the grammar, this adds the bounds
// that it lacks. One connection's server side owns one; fuzzable as it stands.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/message.h"

namespace dripgate::http {

class RequestReader {
 public:
  enum class Step : unsigned char {
    need_bytes,  // read into space(), then call added()
    head,        // once per request with a body: head() is there, the body is not
    complete,    // take() it
    refused,     // refusal() says why; the connection cannot go on
  };
  struct Refusal {
    int status = 400;
    std::string_view kind;
    std::string detail;
  };

  RequestReader(std::size_t header_bytes_max, std::size_t body_bytes_max);
  ~RequestReader();

  [[nodiscard]] std::span<char> space();
  void added(std::size_t bytes);
  [[nodiscard]] Step advance();

  /// Some byte of the current request arrived.
  [[nodiscard]] bool begun() const;
  /// Its header is complete.
  [[nodiscard]] bool in_body() const;
  [[nodiscard]] std::size_t body_bytes() const;
  /// The request so far; its peer is the caller's to fill in.
  [[nodiscard]] Request& head();
  /// The client waits for "100 Continue" and has sent nothing of the body yet.
  [[nodiscard]] bool expects_continue() const;
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] const Refusal& refusal() const;
  /// The complete request; the reader begins with the next one, whose bytes may be here already.
  [[nodiscard]] Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::http
