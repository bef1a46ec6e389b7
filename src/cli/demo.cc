#include "cli/verbs.h"
namespace dripgate::cli {
int run_demo(const DemoOptions&) {
  return kExitRefused;
}
}  // namespace dripgate::cli
