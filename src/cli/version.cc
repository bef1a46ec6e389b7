#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {

std::string version_text() {
  return "dripgate " DRIPGATE_VERSION;
}

int run_version() {
  print_line(version_text());
  return kExitOk;
}

}  // namespace dripgate::cli
