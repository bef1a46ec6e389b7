// Problem documents. Pure; the server's own refusals and every route call it.
#include "http/problem.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace dripgate::http {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 425:
      return "Too Early";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

Response problem(int status, std::string_view kind, std::string_view detail,
                 std::optional<Duration> retry_after) {
  nlohmann::ordered_json body{{"type", "/errors/" + std::string(kind)},
                              {"title", reason_phrase(status)},
                              {"status", status},
                              {"detail", detail}};
  Response response{.status = status, .headers = {{"Content-Type", "application/problem+json"}}, .body = {}};
  if (retry_after) {
    const auto seconds =
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(*retry_after).count());
    body["retryAfterSeconds"] = seconds;
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  // Detail may quote what a client sent: bytes that are no UTF-8 are replaced, never thrown over.
  response.body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return response;
}

}  // namespace dripgate::http
