// Small config texts for tests, and what they load as.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace dripgate::config {

inline std::vector<std::string> texts(const Loaded& loaded) {
  std::vector<std::string> lines;
  for (const Problem& problem : loaded.problems) lines.push_back(to_string(problem));
  return lines;
}

inline Config good(const std::string& text, const Environment& environment = {}) {
  auto loaded = parse(text, "f.yaml", environment);
  EXPECT_TRUE(loaded.config) << ::testing::PrintToString(texts(loaded));
  return loaded.config.value_or(Config{});
}

inline std::string warning_of(const std::string& text) {
  const auto loaded = parse(text, "f.yaml");
  EXPECT_TRUE(loaded.config) << ::testing::PrintToString(texts(loaded));
  return loaded.problems.size() == 1 ? to_string(loaded.problems[0])
                                     : ::testing::PrintToString(texts(loaded));
}

inline std::string policy(const std::string& body) {
  return "policies:\n  - id: p\n    key: [tenant]\n    onStoreFailure: closed\n" + body;
}

inline core::Policy policy_of(const std::string& body) {
  const Config config = good(policy(body));
  return config.policies.empty() ? core::Policy{} : *config.policies[0];
}

inline std::string stream(const std::string& body) {
  return "store: { memory: {} }\nstreams:\n  - id: s\n    source: { embedded: in }\n    key: \"m_{m}\"\n"
         "    deliver: { topic: out }\n" +
         body;
}

inline StreamSettings stream_of(const std::string& body) {
  const Config config = good(stream(body));
  return config.streams.empty() ? StreamSettings{} : config.streams[0];
}

}  // namespace dripgate::config
