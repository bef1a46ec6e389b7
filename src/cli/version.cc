#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {

int run_version() {
  print_line("dripgate " DRIPGATE_VERSION);
  return kExitOk;
}

}  // namespace dripgate::cli
