// `dripgate explain --attr NAME=VALUE ...`: which policies a request with these facts takes, why the others
// do not match, the counter keys and what is left. Takes nothing.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

using Json = nlohmann::json;

Result<std::string> body_of(const ExplainOptions& options) {
  Json facts = Json::object();
  for (const std::string& pair : options.attributes) {
    const std::size_t sign = pair.find('=');
    if (sign == std::string::npos || sign == 0) {
      return fail(ErrorCode::invalid_argument,
                  "--attr '" + pair + "': accepted: NAME=VALUE, such as plan=free");
    }
    facts[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  return Json{{"attributes", std::move(facts)}, {"cost", options.cost}}.dump(-1, ' ', false,
                                                                             Json::error_handler_t::replace);
}

std::string text_of(const Json& object, const char* name) {
  const auto value = object.find(name);
  if (value == object.end() || value->is_null()) return "-";
  return printable(value->is_string() ? value->get<std::string>() : value->dump());
}

std::string joined(const Json& list) {
  std::string out;
  for (const Json& item : list) out += (out.empty() ? "" : ", ") + printable(item.get<std::string>());
  return out;
}

std::string matched_text(const Json& policy) {
  std::string text =
      fmt::format("{} {}: {}\n", text_of(policy, "policy"),
                  policy.value("allowed", false) ? "allows" : "REFUSES", text_of(policy, "role"));
  if (!policy["override"].is_null()) text += fmt::format("  override      {}\n", text_of(policy, "override"));
  if (!policy["missing"].empty()) text += fmt::format("  missing       {}\n", joined(policy["missing"]));
  for (const Json& limit : policy["limits"]) {
    text += fmt::format("  {:<12}  {} per {} ms, capacity {}\n", text_of(limit, "algorithm"),
                        text_of(limit, "limit"), text_of(limit, "windowMs"), text_of(limit, "capacity"));
    text += fmt::format("    key         {}\n", text_of(limit, "counterKey"));
    text += fmt::format("    remaining   {}, reset after {} s", text_of(limit, "remaining"),
                        text_of(limit, "resetAfterSeconds"));
    if (const std::string retry = text_of(limit, "retryAfterMs"); retry != "-")
      text += fmt::format(", retry after {} ms", retry);
    text += '\n';
  }
  return text;
}

std::string answer_text(const Json& answer) {
  std::string text = fmt::format("{}\n", text_of(answer, "kind"));
  if (const std::string mode = text_of(answer, "degraded"); mode != "-")
    text += fmt::format("the store does not answer: decided by onStoreFailure {}; /readyz says more\n", mode);
  for (const Json& policy : answer["matched"]) text += matched_text(policy);
  for (const Json& other : answer["others"]) {
    text += fmt::format(
        "{} does not match: {} {}; accepted: {}\n", text_of(other, "policy"), text_of(other, "attribute"),
        other.value("present", false) ? "has another value" : "is not there", joined(other["accepted"]));
  }
  return text;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const auto body = body_of(options);
  if (!body) {
    complain(body.error());
    return kExitUsage;
  }
  auto api = ApiClient::make(options.server);
  if (!api) return complain(api.error());
  const auto answer = (*api)->ask("POST", "/v1/explain", *body);
  if (!answer) return complain(answer.error());
  if (options.json) {
    print(*answer);
    return kExitOk;
  }
  const Json parsed = Json::parse(*answer, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("matched") || !parsed.contains("others"))
    return complain(Error{ErrorCode::corrupt, false, "the answer is not what was asked for"});
  print(answer_text(parsed));
  return kExitOk;
}

}  // namespace dripgate::cli
