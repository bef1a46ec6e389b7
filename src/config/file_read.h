// File reading: whole small files, and what tells that a file is another one than last time. Called by
// load.cc, the secret reader and the snapshot.
#pragma once

#include <string>

#include "base/result.h"

namespace dripgate::config {

/// All bytes; errors: not_found, io, too_large, with the reason as detail.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max);

/// Device, inode, size and times of what the path leads to, through symbolic links: changes when the file is
/// written in place, renamed over, or reached through another link. Empty: there is no such file.
[[nodiscard]] std::string file_identity(const std::string& path);

}  // namespace dripgate::config
