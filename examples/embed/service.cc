// A small HTTP service on Beast with Dripgate inside: one io_context of its own, to which the limiter's
// answers come back. `embed_service gate.yaml PORT`; port 0 is any free one.
//
//   curl -i -H 'X-API-Key: k-1' http://127.0.0.1:PORT/orders
//   curl -i -X POST -H 'Cookie: session=s-manoj' http://127.0.0.1:PORT/transfers
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>

#include "middleware.h"

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;

namespace {

/// Who has which session: a database in a real service. What a client merely claims is never a fact.
const std::map<std::string, std::string, std::less<>> kSessions{{"s-manoj", "manoj"}, {"s-asha", "asha"}};

Facts facts_of(const HttpRequest& request, const dripgate::Limiter& limiter, const std::string& peer) {
  std::vector<std::string_view> forwarded;
  const auto [first, last] = request.equal_range("X-Forwarded-For");
  for (auto field = first; field != last; ++field) forwarded.push_back(field->value());
  Facts facts{{"ip", limiter.client_address(peer, forwarded)}};
  if (const auto key = request["X-API-Key"]; !key.empty()) {
    facts["plan"] = "free";
    facts["apiKey"] = std::string(key);
  }
  const std::string_view cookie = request[http::field::cookie];
  if (const auto at = cookie.find("session="); at != std::string_view::npos) {
    const std::string_view session = cookie.substr(at + 8, cookie.find(';', at) - at - 8);
    if (const auto user = kSessions.find(session); user != kSessions.end()) facts["user"] = user->second;
  }
  return facts;
}

HttpResponse application(const HttpRequest& request) {
  HttpResponse response{http::status::ok, 11, "served " + std::string(request.target()) + "\n"};
  response.set(http::field::content_type, "text/plain");
  return response;
}

/// One connection, request by request.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, dripgate::Limiter& limiter)
      : peer_(socket.remote_endpoint().address().to_string()),
        stream_(std::move(socket)),
        limiter_(limiter) {}

  void read() {
    request_ = {};
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->answer();
                     });
  }

 private:
  void answer() {
    Middleware limited(limiter_);
    limited(
        request_, facts_of(request_, limiter_, peer_),
        [self = shared_from_this()] { return application(self->request_); },
        [self = shared_from_this()](HttpResponse response) { self->write(std::move(response)); });
  }

  void write(HttpResponse response) {
    response_ = std::move(response);
    response_.keep_alive(request_.keep_alive());
    response_.prepare_payload();
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error && self->response_.keep_alive()) self->read();
    });
  }

  const std::string peer_;
  beast::tcp_stream stream_;
  dripgate::Limiter& limiter_;
  beast::flat_buffer buffer_;
  HttpRequest request_;
  HttpResponse response_;
};

void accept(tcp::acceptor& acceptor, dripgate::Limiter& limiter) {
  acceptor.async_accept([&](beast::error_code error, tcp::socket socket) {
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (!error) std::make_shared<Session>(std::move(socket), limiter)->read();
    accept(acceptor, limiter);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: embed_service gate.yaml PORT\n", 2;
  asio::io_context io{1};
  auto limiter =
      dripgate::Limiter::open({.config_file = argv[1],
                               .post = [&io](std::function<void()> task) { asio::post(io, std::move(task)); },
                               .on_reload =
                                   [](bool, const std::vector<std::string>& lines) {
                                     for (const std::string& line : lines) std::cerr << line << '\n';
                                   }});
  if (!limiter) return std::cerr << limiter.error().detail << '\n', 1;

  tcp::acceptor acceptor(
      io, {asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(std::atoi(argv[2]))});
  std::cout << "listening on 127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](beast::error_code, int) { io.stop(); });
  accept(acceptor, *limiter);
  io.run();
}
