// `dripgate freeze|thaw|reset STREAM KEY` and `pause|resume STREAM`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

using Action = OperateOptions::Action;

const char* word(Action action) {
  switch (action) {
    case Action::freeze:
      return "freeze";
    case Action::thaw:
      return "thaw";
    case Action::reset:
      return "reset";
    case Action::pause:
      return "pause";
    case Action::resume:
      return "resume";
  }
  std::unreachable();
}

std::string done_text(const OperateOptions& options, const nlohmann::json& answer) {
  const std::string what = options.key.empty() ? options.stream : options.stream + " / " + options.key;
  switch (options.action) {
    case Action::freeze:
      return fmt::format("{} is frozen until {}", what,
                         printable(answer.value("frozenUntil", std::string("?"))));
    case Action::thaw:
      return what + " is not frozen any more";
    case Action::reset:
      return what + " starts fresh; event ids are still remembered";
    case Action::pause:
      return what + " is paused: events are taken in and kept";
    case Action::resume:
      return what + " goes on";
  }
  std::unreachable();
}

}  // namespace

int run_operate(const OperateOptions& options) {
  auto api = ApiClient::make(options.server);
  if (!api) return complain(api.error());
  std::string target = "/v1/streams/" + http::percent_encode(options.stream);
  if (!options.key.empty()) target += "/keys/" + http::percent_encode(options.key);
  std::string body;
  if (options.action == Action::freeze) {
    body = options.until.empty() ? nlohmann::json{{"for", fmt::format("{}ms", options.duration / 1ms)}}.dump()
                                 : nlohmann::json{{"until", options.until}}.dump();
  }
  const auto answer = (*api)->ask("POST", target + "/" + word(options.action), std::move(body));
  if (!answer) return complain(answer.error());
  const auto parsed = nlohmann::json::parse(*answer, nullptr, false);
  print_line(done_text(options, parsed.is_object() ? parsed : nlohmann::json::object()));
  return kExitOk;
}

}  // namespace dripgate::cli
