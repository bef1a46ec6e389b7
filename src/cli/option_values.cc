#include "cli/option_values.h"

#include <array>
#include <charconv>
#include <utility>

#include <CLI/Error.hpp>
#include <CLI/Option.hpp>

namespace dripgate::cli {
namespace {

constexpr std::array<std::pair<std::string_view, Duration>, 5> kUnits{{
    {"ms", 1ms},
    {"s", 1s},
    {"m", 1min},
    {"h", 1h},
    {"d", std::chrono::hours{24}},
}};
constexpr double kSpanMaxUs = 1e15;  // 31 years

Result<std::pair<std::int64_t, Duration>> parse_rate(const std::string& text) {
  const std::size_t slash = text.find('/');
  std::int64_t count = 0;
  const char* end = text.data() + std::min(slash, text.size());
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (slash == std::string::npos || error != std::errc{} || stop != end || count < 1) {
    return fail(ErrorCode::invalid_argument, "'" + text + "'; accepted: COUNT/SPAN, as 100/60s");
  }
  const auto window = parse_span(text.substr(slash + 1));
  if (!window) return std::unexpected(window.error());
  if (*window == Duration{0}) return fail(ErrorCode::invalid_argument, "the span must be above 0");
  return std::pair{count, *window};
}

}  // namespace

Result<Duration> parse_span(const std::string& text) {
  double number = 0;
  const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && number >= 0) {
    const std::string_view rest(unit, text.data() + text.size());
    for (const auto& [word, span] : kUnits) {
      const double us = number * static_cast<double>(span.count());
      if (rest == word && us <= kSpanMaxUs) return Duration{static_cast<std::int64_t>(us)};
    }
  }
  return fail(ErrorCode::invalid_argument,
              "'" + text + "'; accepted: a number and ms, s, m, h or d, as 200ms or 1.5h");
}

CLI::Option* add_span(CLI::App& verb, const std::string& name, Duration& target, const std::string& about) {
  return verb
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& text) {
            const auto span = parse_span(text);
            if (!span) throw CLI::ValidationError(name, span.error().detail);
            target = *span;
          },
          about)
      ->type_name("SPAN");
}

CLI::Option* add_rate(CLI::App& verb, const std::string& name, std::int64_t& count, Duration& window,
                      const std::string& about) {
  return verb
      .add_option_function<std::string>(
          name,
          [&count, &window, name](const std::string& text) {
            const auto rate = parse_rate(text);
            if (!rate) throw CLI::ValidationError(name, rate.error().detail);
            std::tie(count, window) = *rate;
          },
          about)
      ->type_name("COUNT/SPAN");
}

void add_server(CLI::App& verb, ServerAddress& server) {
  verb.add_option("--url", server.url, "Where dripgate up listens")->capture_default_str();
  verb.add_option("--token-file", server.token_file, "File with the bearer token")->type_name("FILE");
  verb.add_option("--ca-file", server.ca_file, "https: CAs to trust (PEM); default: the system's")
      ->type_name("FILE");
  add_span(verb, "--timeout", server.timeout, "Longest wait for one answer (30s)");
}

}  // namespace dripgate::cli
