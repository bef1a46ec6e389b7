// Matcher: which policies a request takes. A request takes EVERY policy whose terms all hold; specificity,
// never file order, decides which comes first and which override counts. Immutable and thread-safe; built
// with each config.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/policy.h"

namespace dripgate::config {

/// Mostly one to a few.
using Matched = absl::InlinedVector<const core::Policy*, 4>;

class Matcher {
 public:
  explicit Matcher(const std::vector<core::PolicyPtr>& policies);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// The most specific first: more terms in `match`, then more terms that name one exact value, then more
  /// literal characters, then the smaller id. Pointers live as long as the matcher.
  [[nodiscard]] Matched match(const core::Descriptor& request) const;

 private:
  struct Index;
  std::unique_ptr<const Index> index_;
};

/// The override for a value of the policy's first key part (core::counted_value; a secret part: its 16 hex
/// digits): the exact one, else the longest prefix, else "*". Null: none.
[[nodiscard]] const core::Override* override_for(const core::Policy& policy, std::string_view value);

}  // namespace dripgate::config
