// Script: one Lua text with the SHA-1 by which Redis caches it.
#pragma once

#include <string>
#include <string_view>

namespace dripgate::redis {

class Script {
 public:
  /// `text` outlives the Script (the texts are constants of the product).
  explicit Script(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view sha1() const { return sha1_; }  // 40 hex digits

 private:
  std::string_view text_;
  std::string sha1_;
};

}  // namespace dripgate::redis
