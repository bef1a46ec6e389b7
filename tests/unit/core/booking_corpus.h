// Replays random histories whose answers were written down by another implementation of the algorithm
// (tests/golden/booking_corpus.txt says how to read a line).
#pragma once

#include <string>

namespace dripgate::testing {

struct CorpusResult {
  int histories = 0;
  int operations = 0;
  int different = 0;  // histories with a different answer
  std::string first;  // the first differences, for a person
};

[[nodiscard]] CorpusResult replay_corpus(const std::string& path);

}  // namespace dripgate::testing
