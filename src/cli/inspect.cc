// `dripgate inspect [STREAM [KEY]]`: how streams and keys are doing right now.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

using Json = nlohmann::json;

std::string target_of(const InspectOptions& options) {
  std::string target = "/v1/streams";
  if (!options.stream.empty()) target += "/" + http::percent_encode(options.stream);
  if (!options.key.empty()) target += "/keys/" + http::percent_encode(options.key);
  return target;
}

std::string text_or(const Json& object, const char* name, const std::string& otherwise) {
  const auto value = object.find(name);
  return value != object.end() && value->is_string() ? printable(value->get<std::string>()) : otherwise;
}

std::string stream_text(const Json& stream) {
  std::string text = fmt::format("{}{}\n", text_or(stream, "id", "?"),
                                 stream.value("paused", false) ? "  PAUSED by an operator" : "");
  if (stream.contains("error"))
    return text + fmt::format("  error         {}\n", text_or(stream, "error", ""));
  text += fmt::format("  backlog       {} booked\n", stream.value("backlog", 0));
  text += fmt::format("  oldest slot   {}\n", text_or(stream, "oldestSlot", "-"));
  text += fmt::format("  eta           {}\n", text_or(stream, "eta", "-"));
  text += fmt::format("  in flight     {}\n", stream.value("inFlight", 0));
  text += fmt::format("  dead letters  {}\n", stream.value("deadLetters", 0));
  if (const auto fault = stream.find("lastError"); fault != stream.end() && fault->is_object()) {
    text += fmt::format("  error         {}\n", text_or(*fault, "detail", ""));
  }
  return text;
}

std::string key_text(const Json& key) {
  std::string text = fmt::format("{} / {}\n", text_or(key, "stream", "?"), text_or(key, "key", "?"));
  for (const Json& limit : key.value("limits", Json::array())) {
    text += fmt::format("  {:<12}  {} of {} released in this window\n", text_or(limit, "windowType", "?"),
                        limit.value("released", 0), limit.value("limit", 0));
  }
  text += fmt::format("  pending       {} units booked\n", key.value("pending", 0));
  text += fmt::format("  first free    {}\n", text_or(key, "nextSlot", "-"));
  text += fmt::format("  last slot     {}\n", text_or(key, "eta", "-"));
  text += fmt::format("  frozen until  {}\n", text_or(key, "frozenUntil", "-"));
  return text;
}

std::string answer_text(const InspectOptions& options, const Json& answer) {
  if (!options.key.empty()) return key_text(answer);
  if (!options.stream.empty()) return stream_text(answer);
  std::string text;
  for (const Json& stream : answer.value("streams", Json::array())) text += stream_text(stream);
  return text;
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  auto api = ApiClient::make(options.server);
  if (!api) return complain(api.error());
  const auto answer = (*api)->ask("GET", target_of(options));
  return show(answer, options.json, [&](const Json& parsed) { print(answer_text(options, parsed)); });
}

}  // namespace dripgate::cli
