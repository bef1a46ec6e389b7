// The limit of open files, in a child: it holds for a whole process.
#include "app/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dripgate::app {
namespace {

/// Asks in a child with these limits: 0 raised as asked, 1 a warning and the hard limit, 2 anything else.
int asked(rlim_t soft, rlim_t hard, std::uint64_t needed) {
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{soft, hard};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(2);
    const auto warning = allow_open_files(needed);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (!warning && limit.rlim_cur >= needed) ::_exit(0);
    ::_exit(warning && limit.rlim_cur == hard && limit.rlim_max == hard ? 1 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(FileLimit, IsRaisedToWhatIsNeededOrAsFarAsItMayWithAWarning) {
  EXPECT_EQ(asked(100, 200, 150), 0);
  EXPECT_EQ(asked(200, 200, 150), 0);
  EXPECT_EQ(asked(100, 200, 300), 1);
}

}  // namespace
}  // namespace dripgate::app
