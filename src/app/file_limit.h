// The limit of open files: every connection is one, and a common default of 1024 is below what the server is
// bounded to. Of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dripgate::app {

/// Files of the process itself: the database and its log, loops, listener, standard streams, config.
inline constexpr std::uint64_t kOwnFilesMax = 64;

/// Raises the soft limit to `needed`, at most to the hard one. A sentence for the log when that is too few.
[[nodiscard]] std::optional<std::string> allow_open_files(std::uint64_t needed);

}  // namespace dripgate::app
