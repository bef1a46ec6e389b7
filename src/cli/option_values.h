// Option values shared by the options_*.cc files: durations, rates, the server's address.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/App.hpp>

#include "base/time.h"
#include "cli/verbs.h"

namespace dripgate::cli {

/// "200ms", "60s", "1.5h", "2d". Errors: invalid_argument.
[[nodiscard]] Result<Duration> parse_span(const std::string& text);

/// --NAME SPAN
CLI::Option* add_span(CLI::App& verb, const std::string& name, Duration& target, const std::string& about);
/// --NAME N/SPAN
CLI::Option* add_rate(CLI::App& verb, const std::string& name, std::int64_t& count, Duration& window,
                      const std::string& about);
/// --url, --token-file, --ca-file, --timeout
void add_server(CLI::App& verb, ServerAddress& server);

}  // namespace dripgate::cli
