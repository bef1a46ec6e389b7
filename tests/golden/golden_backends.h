// The stores that the golden cases run on: one of each kind.
#pragma once

#include "conformance/backends.h"

namespace dripgate::golden {

[[nodiscard]] inline std::vector<testing::Backend> golden_backends() {
  auto backends = testing::quick_backends();
  std::erase_if(backends, [](const auto& backend) { return backend.name == "SqliteTwoConnections"; });
  return backends;
}

}  // namespace dripgate::golden
