// The whole of rate limiting in this service: facts of a request in, the response of the application or the
// refusal out, with the headers that clients understand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <boost/beast/http.hpp>
#include <dripgate/limiter.h>

namespace http = boost::beast::http;
using HttpRequest = http::request<http::string_body>;
using HttpResponse = http::response<http::string_body>;
using Facts = std::map<std::string, std::string, std::less<>>;

class Middleware {
 public:
  explicit Middleware(dripgate::Limiter& limiter) : limiter_(limiter) {}

  /// `app` answers what passes; `send` takes the response, on the thread that `post` of the limiter's options
  /// leads to.
  void operator()(const HttpRequest& request, Facts facts, std::function<HttpResponse()> app,
                  std::function<void(HttpResponse)> send) {
    facts["method"] = request.method_string();
    facts["path"] = request.target();  // method and path become the route, in one spelling
    limiter_.check({.facts = std::move(facts)}, [app = std::move(app), send = std::move(send)](
                                                    dripgate::Result<dripgate::Decision> asked) {
      if (!asked) return send(HttpResponse{http::status::internal_server_error, 11});  // facts of ours
      HttpResponse response = asked->allowed() ? app() : refusal(*asked);
      for (const auto& [name, value] : asked->headers) response.set(name, value);
      send(std::move(response));
    });
  }

 private:
  static HttpResponse refusal(const dripgate::Decision& decision) {
    HttpResponse response{http::int_to_status(static_cast<unsigned>(decision.status)), 11, decision.problem};
    response.set(http::field::content_type, "application/problem+json");
    return response;
  }

  dripgate::Limiter& limiter_;
};
