#include "app/config_report.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace dripgate::app {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& from, const char* name) {
  const auto value = from.find(name);
  return value != from.end() && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

std::string to_text(const ConfigReport& report) {
  const server::ConfigState& config = report.config;
  Json json{{"part", report.part},
            {"version", config.version},
            {"appliedAt", format_rfc3339(config.applied, Fraction::milliseconds)},
            {"reload", config.reload.value_or(0)}};
  // Cut inside a character: replaced when it is written.
  if (!config.refused.empty()) json["refused"] = config.refused.substr(0, kRefusalBytesMax);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ConfigReport> read_config_report(std::string instance, Duration age, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto applied = json.is_object() ? parse_rfc3339(text_of(json, "appliedAt"))
                                        : Result<WallTime>(fail(ErrorCode::corrupt, ""));
  const auto number = json.is_object() ? json.find("reload") : json.end();
  if (!applied || number == json.end() || !number->is_number_integer()) {
    return fail(ErrorCode::corrupt, "the report of instance " + instance +
                                        " cannot be read: " + std::string(text.substr(0, kRefusalBytesMax)));
  }
  return ConfigReport{.instance = std::move(instance),
                      .part = text_of(json, "part"),
                      .config = {.version = text_of(json, "version"),
                                 .applied = *applied,
                                 .reload = number->get<std::int64_t>(),
                                 .refused = text_of(json, "refused")},
                      .age = age};
}

}  // namespace dripgate::app
