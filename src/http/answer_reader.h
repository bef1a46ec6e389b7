// AnswerReader: bytes in, one response out; no socket. The client makes one per call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "http/message.h"

namespace dripgate::http {

class AnswerReader {
 public:
  /// `head_only`: the answer to a HEAD has no body whatever its Content-Length says.
  AnswerReader(bool head_only, std::size_t body_bytes_max);
  ~AnswerReader();

  [[nodiscard]] std::span<char> space();
  /// True: the answer is complete. Errors: unavailable (malformed), one sentence.
  [[nodiscard]] Result<bool> added(std::size_t bytes);
  /// The peer closed. True: that completes the answer. Errors: unavailable (cut off).
  [[nodiscard]] Result<bool> ended();

  /// The connection can carry another call.
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] Response take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::http
