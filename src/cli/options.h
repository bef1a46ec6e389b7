// Options: the command line as CLI11 sees it. main.cc builds the program from these; each fills its verb's
// struct and leaves in `run` what to do once the arguments are parsed.
#pragma once

#include <functional>

namespace CLI {
class App;
}  // namespace CLI

namespace dripgate::cli {

using Run = std::function<int()>;

void add_run_verbs(CLI::App& program, Run& run);      // up, lint, sink, demo, version
void add_publish_verb(CLI::App& program, Run& run);   // publish
void add_operate_verbs(CLI::App& program, Run& run);  // inspect, explain, dlq, freeze, ...
void add_redis_verbs(CLI::App& program, Run& run);    // instances, reload, bench store

}  // namespace dripgate::cli
