// VendorSimulator: a vendor with a real window inside: counts requests, says what is left in its own header
// form, refuses in its own way. Its clock may be wrong, and it may have a secondary limit that no header
// shows. `dripgate sink --vendor` and tests use it. Pure but for its counts: time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/message.h"

namespace dripgate::cli {

struct VendorPlay {
  std::string profile = "generic";  // core/vendor.h, kVendorProfiles
  std::int64_t limit = 100;         // per window of its clock
  Duration window = std::chrono::seconds{1};
  Duration skew{};             // of its clock against ours
  std::int64_t secondary = 0;  // requests per minute, shown in no header; 0: none
};

class VendorSimulator {
 public:
  explicit VendorSimulator(VendorPlay play) : play_(std::move(play)) {}

  [[nodiscard]] http::Response answer(WallTime now);
  [[nodiscard]] std::int64_t served() const { return served_; }
  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  struct Count {
    std::int64_t window = -1;
    std::int64_t units = 0;
    /// False: the window is full.
    bool take(std::int64_t limit, std::int64_t now_window);
  };
  [[nodiscard]] http::Headers headers(WallTime here, Duration left, bool refused) const;

  VendorPlay play_;
  Count primary_;
  Count secondary_;
  std::int64_t served_ = 0;
  std::int64_t refused_ = 0;
};

}  // namespace dripgate::cli
