#include "cli/line_batches.h"

namespace dripgate::cli {

bool LineBatches::read_line() {
  while (line_.empty() && std::getline(in_, line_)) {
    bytes_read_ += line_.size() + 1;
    if (line_.ends_with('\r')) line_.pop_back();
    if (line_.find_first_not_of(" \t") == std::string::npos) line_.clear();
  }
  return !line_.empty();
}

std::optional<Batch> LineBatches::next() {
  Batch batch;
  while (batch.lines < lines_max_ && read_line()) {
    if (batch.lines > 0 && batch.body.size() + line_.size() + 1 > bytes_max_) break;
    batch.body += line_;
    batch.body += '\n';
    ++batch.lines;
    line_.clear();
  }
  if (batch.lines == 0) return std::nullopt;
  batch.number = ++batches_;
  return batch;
}

}  // namespace dripgate::cli
