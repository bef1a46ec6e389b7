// Context: what every reader of one file shares.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/report.h"

namespace dripgate::config {

struct Context {
  Report& report;
  const Environment& environment;
  std::filesystem::path folder;           // of the config file: relative paths inside it start here
  std::vector<std::string> secret_files;  // read so far

  /// A path written in the file, as the process can open it.
  [[nodiscard]] std::string resolve(const std::string& path) const {
    return std::filesystem::path(path).is_absolute() ? path : (folder / path).string();
  }
};

}  // namespace dripgate::config
