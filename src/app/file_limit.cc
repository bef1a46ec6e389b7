#include "app/file_limit.h"

#include <algorithm>

#include <sys/resource.h>

namespace dripgate::app {

std::optional<std::string> allow_open_files(std::uint64_t needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "the limit of open files cannot be read";
  if (limit.rlim_cur >= needed) return std::nullopt;
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  const bool raised = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (raised && limit.rlim_cur >= needed) return std::nullopt;
  return "the process may open " + std::to_string(limit.rlim_max) + " files and needs " +
         std::to_string(needed) + " for all its connections: raise its limit (ulimit -Hn, LimitNOFILE)";
}

}  // namespace dripgate::app
