// ByteQueue: bytes that arrived and are not parsed yet, in one growing block that is reused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace dripgate::http {

class ByteQueue {
 public:
  /// Where to read into: at least half a block.
  [[nodiscard]] std::span<char> space() {
    if (begin_ > 0 && (begin_ == end_ || bytes_.size() - end_ < kBlock / 2)) {
      std::copy(bytes_.begin() + std::ptrdiff_t(begin_), bytes_.begin() + std::ptrdiff_t(end_),
                bytes_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    if (bytes_.size() - end_ < kBlock / 2) bytes_.resize(end_ + kBlock);
    return std::span(bytes_).subspan(end_);
  }
  void added(std::size_t n) { end_ += n; }
  void consumed(std::size_t n) { begin_ += n; }
  [[nodiscard]] std::string_view waiting() const { return {bytes_.data() + begin_, end_ - begin_}; }

 private:
  static constexpr std::size_t kBlock = 16u << 10;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace dripgate::http
