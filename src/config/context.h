// Context: what every reader of one file shares.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/report.h"

namespace dripgate::config {

/// A PEM file that the config names; opened by who uses it, and by lint.
struct PemFile {
  Mark at;
  std::string name;  // "cert 'tls/cert.pem'", as it is written
  std::string path;
};

struct Context {
  Report& report;
  const Environment& environment;
  std::filesystem::path folder;           // of the config file: relative paths inside it start here
  std::vector<std::string> secret_files;  // read so far
  std::vector<PemFile> pem_files{};       // named so far

  /// A path written in the file, as the process can open it.
  [[nodiscard]] std::string resolve(const std::string& path) const {
    return std::filesystem::path(path).is_absolute() ? path : (folder / path).string();
  }
};

}  // namespace dripgate::config
