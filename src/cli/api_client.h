// ApiClient: calls to a running `dripgate up`, one after another, waiting for each on this thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/verbs.h"
#include "http/client.h"

namespace dripgate::cli {

/// What every call to the server carries: where to, and the token.
struct ApiOrigin {
  http::Url url;
  http::Headers headers;  // authorization
  http::ClientOptions options;
};
/// Errors: invalid_argument (URL), io (a token file that cannot be read).
[[nodiscard]] Result<ApiOrigin> api_origin(const ServerAddress& server);

class ApiClient {
 public:
  static Result<std::unique_ptr<ApiClient>> make(const ServerAddress& server);

  /// Errors: unavailable and timed_out (no answer). An answer that refuses is a Response.
  Result<http::Response> call(const std::string& method, const std::string& target, std::string body = {});
  /// The body of a 2xx answer; anything else becomes an Error with the server's own sentence.
  Result<std::string> ask(const std::string& method, const std::string& target, std::string body = {});

 private:
  ApiClient(ApiOrigin origin, Duration timeout) : origin_(std::move(origin)), timeout_(timeout) {}

  net::IoLoop loop_;
  ApiOrigin origin_;
  Duration timeout_;
  std::unique_ptr<http::Client> client_;
};

/// "the stream is paused (HTTP 409)": the detail of a problem document, else the status.
[[nodiscard]] std::string refusal(const http::Response& response);

/// Shows the answer to a verb's question: as it came (`as_json`), or as `in_words` prints the object. The
/// verb's exit code.
int show(const Result<std::string>& answer, bool as_json,
         const std::function<void(const nlohmann::json&)>& in_words);

}  // namespace dripgate::cli
