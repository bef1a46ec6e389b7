// `dripgate vendor inspect|freeze|thaw VENDOR [--attr NAME=VALUE]`: a key at somebody else's API, for an
// operator.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

using Action = VendorOptions::Action;
using Json = nlohmann::json;

Result<std::string> target_of(const VendorOptions& options) {
  std::string target = "/v1/vendors/" + http::percent_encode(options.vendor);
  if (options.action == Action::freeze) target += "/freeze";
  if (options.action == Action::thaw) target += "/thaw";
  char mark = '?';
  for (const std::string& pair : options.attributes) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::invalid_argument,
                  "--attr '" + pair + "': accepted: NAME=VALUE, such as portal=42");
    }
    target += mark + http::percent_encode(pair.substr(0, equals)) + "=" +
              http::percent_encode(pair.substr(equals + 1));
    mark = '&';
  }
  return target;
}

std::string body_of(const VendorOptions& options) {
  if (options.action != Action::freeze) return {};
  return options.until.empty() ? Json{{"for", fmt::format("{}ms", options.duration / 1ms)}}.dump()
                               : Json{{"until", options.until}}.dump();
}

std::string text_or(const Json& object, const char* name, const std::string& otherwise) {
  const auto value = object.find(name);
  return value != object.end() && value->is_string() ? printable(value->get<std::string>()) : otherwise;
}

std::string state_text(const Json& answer) {
  std::string text = fmt::format("{} / {}\n", text_or(answer, "vendor", "?"), text_or(answer, "key", "?"));
  for (const Json& limit : answer.value("limits", Json::array())) {
    text += fmt::format("  {:<12}  {} {} left", text_or(limit, "limit", "?"), limit.value("remaining", 0),
                        text_or(limit, "dimension", "?"));
    const std::string held = text_or(limit, "waitsUntil", "");
    text += held.empty() ? "\n" : fmt::format(", none before {}\n", held);
  }
  text += fmt::format("  in flight     {}\n", answer.value("inFlight", 0));
  text += fmt::format("  refusals      {} in a row\n", answer.value("refusalsInARow", 0));
  text += fmt::format("  frozen until  {}\n", text_or(answer, "frozenUntil", "-"));
  return text;
}

std::string answer_text(const VendorOptions& options, const Json& answer) {
  const std::string key = text_or(answer, "key", "?");
  switch (options.action) {
    case Action::inspect:
      return state_text(answer);
    case Action::freeze:
      return fmt::format("{} is frozen until {}\n", key, text_or(answer, "frozenUntil", "?"));
    case Action::thaw:
      return key + " is not frozen any more\n";
  }
  std::unreachable();
}

}  // namespace

int run_vendor(const VendorOptions& options) {
  const auto target = target_of(options);
  if (!target) return complain(target.error());
  auto api = ApiClient::make(options.server);
  if (!api) return complain(api.error());
  const auto answer =
      (*api)->ask(options.action == Action::inspect ? "GET" : "POST", *target, body_of(options));
  return show(answer, options.json, [&](const Json& parsed) { print(answer_text(options, parsed)); });
}

}  // namespace dripgate::cli
