// Text rules: which bytes a config file may hold at all, checked before any parser sees them. yaml-cpp takes
// a byte 0x04 for the end of the file, so that everything behind it would be missing in silence. Pure.
#pragma once

#include "config/report.h"

namespace dripgate::config {

/// UTF-8 without control characters other than tab and line ends (LF, CR LF), at most kConfigBytesMax.
/// False: the report says where and why.
[[nodiscard]] bool check_text(Report& report);

}  // namespace dripgate::config
