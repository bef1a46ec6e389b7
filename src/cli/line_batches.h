// LineBatches: cuts NDJSON into batches for one request each. Empty lines are left out; a batch never holds
// more than its bounds, except one line that is longer than them alone.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace dripgate::cli {

/// Bytes of one batch; far below what the server takes in one body.
inline constexpr std::size_t kBatchBytesMax = 4u << 20;

struct Batch {
  std::uint64_t number = 0;  // from 1, the same for the same input and bounds
  std::size_t lines = 0;
  std::string body;  // every line ends in \n
};

class LineBatches {
 public:
  LineBatches(std::istream& in, std::size_t lines_max, std::size_t bytes_max = kBatchBytesMax)
      : in_(in), lines_max_(lines_max), bytes_max_(bytes_max) {}
  /// Empty: the end.
  [[nodiscard]] std::optional<Batch> next();
  /// Bytes of the input taken so far.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool read_line();

  std::istream& in_;
  std::size_t lines_max_;
  std::size_t bytes_max_;
  std::string line_;  // read, not yet in a batch; empty: none
  std::uint64_t batches_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace dripgate::cli
