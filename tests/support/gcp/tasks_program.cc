// The fake of Cloud Tasks as a program, for what is not written against this tree: says its endpoint, then on
// the end of its input what has happened. Every seventh task loses its answer, every fifth call comes to
// nothing.
#include <cstdio>
#include <iostream>

#include "support/gcp/tasks_fake.h"

namespace {

constexpr int kLosesReplyEvery = 7;
constexpr int kFailsEvery = 5;
constexpr int kUnavailable = 14;

}  // namespace

int main() {
  dripgate::testing::TasksFake tasks;
  tasks.set({.create =
                 [calls = 0](const dripgate::testing::FakeTask&) mutable {
                   ++calls;
                   return dripgate::testing::CreateFault{.code = calls % kFailsEvery == 0 ? kUnavailable : 0,
                                                         .lose_reply = calls % kLosesReplyEvery == 0};
                 },
             .late = {},
             .twice = {}});
  std::printf("%s\n", tasks.endpoint().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
  }
  const auto counts = tasks.counts();
  std::printf("{\"created\": %d, \"existed\": %d, \"refused\": %d, \"attempts\": %d, \"waiting\": %zu}\n",
              counts.created, counts.existed, counts.refused, counts.attempts, counts.waiting);
}
