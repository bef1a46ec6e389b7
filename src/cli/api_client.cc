#include "cli/api_client.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.h"

namespace dripgate::cli {
namespace {

constexpr Duration kLook = 1s;  // how long the loop runs before it is looked at again

Result<std::string> read_token(const std::string& file) {
  std::ifstream in(file);
  std::string token;
  if (!in || !(in >> token)) return fail(ErrorCode::invalid_argument, "cannot read a token from " + file);
  return token;
}

}  // namespace

Result<ApiOrigin> api_origin(const ServerAddress& server) {
  auto url = http::parse_url(server.url);
  if (!url) return std::unexpected(url.error());
  ApiOrigin origin{.url = std::move(*url), .headers = {}, .options = {}};
  if (!server.token_file.empty()) {
    auto token = read_token(server.token_file);
    if (!token) return std::unexpected(token.error());
    origin.headers.emplace_back("Authorization", "Bearer " + *token);
  }
  if (!server.ca_file.empty()) origin.options.tls.ca_file = server.ca_file;
  return origin;
}

Result<std::unique_ptr<ApiClient>> ApiClient::make(const ServerAddress& server) {
  auto origin = api_origin(server);
  if (!origin) return std::unexpected(origin.error());
  std::unique_ptr<ApiClient> api(new ApiClient(std::move(*origin), server.timeout));
  auto client = http::Client::make(api->loop_, api->origin_.url, api->origin_.options);
  if (!client) return std::unexpected(client.error());
  api->client_ = std::move(*client);
  return api;
}

Result<http::Response> ApiClient::call(const std::string& method, const std::string& target,
                                       std::string body) {
  http::Call call;
  call.method = method;
  call.target = target;
  call.headers = origin_.headers;
  if (!body.empty()) call.headers.emplace_back("Content-Type", "application/json");
  call.body = std::move(body);
  call.timeout = timeout_;
  std::optional<Result<http::Response>> answer;
  client_->send(std::move(call), [&](Result<http::Response> given) {
    answer = std::move(given);
    loop_.stop();
  });
  while (!answer) loop_.run_for(kLook);
  return std::move(*answer);
}

Result<std::string> ApiClient::ask(const std::string& method, const std::string& target, std::string body) {
  auto answer = call(method, target, std::move(body));
  if (!answer) {
    const std::string& why = answer.error().detail;
    const std::string from = " from " + origin_.url.authority();
    const bool named = why.find(origin_.url.authority()) != std::string::npos;
    return fail(answer.error().code,
                fmt::format("no answer{}: {}; is it running? --url names another", named ? "" : from, why));
  }
  if (answer->status / 100 == 2) return std::move(answer->body);
  const auto code = answer->status == 404 ? ErrorCode::not_found : ErrorCode::conflict;
  return fail(code, refusal(*answer));
}

std::string refusal(const http::Response& response) {
  const auto problem = nlohmann::json::parse(response.body, nullptr, false);
  if (problem.is_object() && problem.contains("detail") && problem["detail"].is_string()) {
    return fmt::format("{} (HTTP {})", printable(problem["detail"].get<std::string>()), response.status);
  }
  return fmt::format("the server answered HTTP {}", response.status);
}

int show(const Result<std::string>& answer, bool as_json,
         const std::function<void(const nlohmann::json&)>& in_words) {
  if (!answer) return complain(answer.error());
  if (as_json) {
    print(*answer);
    return kExitOk;
  }
  const auto parsed = nlohmann::json::parse(*answer, nullptr, false);
  if (!parsed.is_object()) return complain(Error{ErrorCode::corrupt, false, "the answer is not JSON"});
  in_words(parsed);
  return kExitOk;
}

}  // namespace dripgate::cli
