// The gate over HTTP against a bare Beast server that answers 200 with no body: CPU of the server per
// request, over the same 16 kept-alive connections, taking turns. The whole product answers (app::App on
// memory). The same two behind nginx' auth_request, nginx counted. Then matching among 1,000 policies
// against 10.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/app.h"
#include "compare.h"
#include "config/match.h"
#include "nginx_front.h"

namespace dripgate::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using tcp = asio::ip::tcp;

constexpr std::size_t kConnections = 16;
constexpr int kRounds = 1'000;       // of one request on every connection
constexpr int kBatchRounds = 30;     // of one batch on every connection
constexpr std::size_t kBatch = 100;  // checks of one batch
constexpr int kMatches = 200'000;
constexpr int kNginxRounds = 500;    // of one request on every connection
constexpr double kNginxMore = 1.25;  // total CPU, asking Dripgate against asking a bare server

double cpu_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Of every thread but this one, which is the client.
double servers_ns() {
  return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

class BareBeast {
 public:
  BareBeast() {
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~BareBeast() {
    context_.stop();
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  asio::awaitable<void> accept() {
    while (true) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      socket.set_option(tcp::no_delay(true));
      asio::co_spawn(context_, serve(std::move(socket)), asio::detached);
    }
  }
  static asio::awaitable<void> serve(tcp::socket socket) {
    beast::flat_buffer buffer;
    try {
      while (true) {
        beast::http::request<beast::http::empty_body> request;
        co_await beast::http::async_read(socket, buffer, request, asio::use_awaitable);
        beast::http::response<beast::http::empty_body> response(beast::http::status::ok, request.version());
        response.keep_alive(true);
        response.prepare_payload();
        co_await beast::http::async_write(socket, response, asio::use_awaitable);
      }
    } catch (const std::exception&) {
      co_return;  // the client is gone
    }
  }

  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

/// Blocking, one request in flight per connection.
class Callers {
 public:
  explicit Callers(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int& socket : sockets_) {
      socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    }
  }
  ~Callers() {
    for (const int socket : sockets_) ::close(socket);
  }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  /// The same request on every connection, so many times; every answer is a 200.
  std::uint64_t call(const std::string& request, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const int socket : sockets_) {
        if (::send(socket, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
          std::abort();
      }
      for (const int socket : sockets_) receive(socket);
    }
    return static_cast<std::uint64_t>(rounds) * kConnections;
  }

 private:
  void receive(int socket) {
    std::size_t have = 0;
    std::size_t need = 0;
    while (need == 0 || have < need) {
      if (have == buffer_.size()) std::abort();
      const ssize_t got = ::recv(socket, buffer_.data() + have, buffer_.size() - have, 0);
      if (got <= 0) std::abort();
      have += static_cast<std::size_t>(got);
      if (need == 0) need = whole(std::string_view(buffer_.data(), have));
    }
  }
  /// Bytes of the whole answer; 0: its head is not there yet.
  static std::size_t whole(std::string_view text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) return 0;
    if (!text.starts_with("HTTP/1.1 200")) {
      std::fprintf(stderr, "gate: %.*s\n", static_cast<int>(text.size()), text.data());
      std::abort();
    }
    const std::size_t length = text.find("Content-Length: ");
    return end + 4 + (length < end ? std::strtoul(text.data() + length + 16, nullptr, 10) : 0);
  }

  std::array<int, kConnections> sockets_{};
  std::vector<char> buffer_ = std::vector<char>(1u << 20);
};

constexpr const char* kYaml = R"(
store: { memory: {} }
policies:
  - { id: api, match: { plan: free }, key: [apiKey], capacity: 1000000000, refillPerSecond: 1000000, onStoreFailure: local }
server:
  forwardAuth: { attributes: { plan: "header:x-plan", apiKey: "header:x-api-key" } }
)";

std::unique_ptr<app::App> start_app() {
  auto loaded = config::parse(kYaml, "bench.yaml");
  if (!loaded.config) {
    std::fprintf(stderr, "%s\n", config::to_string(loaded.problems.front()).c_str());
    std::abort();
  }
  app::AppOptions options;
  options.config = std::make_shared<const config::Config>(*std::move(loaded.config));
  options.port = 0;
  options.log.write = [](std::string_view) {};
  return app::App::start(std::move(options)).value();
}

std::string post(const std::string& target, const std::string& body) {
  return "POST " + target +
         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string one_check(std::size_t number) {
  return R"({"attributes":{"plan":"free","apiKey":"key-)" + std::to_string(number) + R"("}})";
}

std::string batch() {
  std::string body = R"({"checks":[)";
  for (std::size_t i = 0; i < kBatch; ++i) body += (i > 0 ? "," : "") + one_check(i);
  return post("/v1/check", body + "]}");
}

int over_http(int argc, char** argv) {
  const BareBeast beast;
  const auto app = start_app();
  Callers control(beast.port());
  Callers callers(app->port());
  const std::string bare = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const std::string forward =
      "GET /v1/forward-auth HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: "
      "/orders/7\r\n"
      "X-Forwarded-For: 203.0.113.9\r\nX-Plan: free\r\nX-API-Key: key-1\r\n\r\n";
  const std::string check = post("/v1/check", one_check(1));
  const std::string checks = batch();
  Comparison table("gate", argc, argv, servers_ns);
  table.add("bare Beast 200", [&] { return control.call(bare, kRounds); });
  table.add("forward-auth", [&] { return callers.call(forward, kRounds); });
  table.add("check", [&] { return callers.call(check, kRounds); });
  table.add("check, batch of 100", [&] { return callers.call(checks, kBatchRounds) * kBatch; });
  table.run();
  table.expect_ratio("forward-auth", "bare Beast 200", 1.4);
  table.expect_ratio("check", "bare Beast 200", 2.0);
  table.expect_at_most("check, batch of 100", 5'000);  // 200,000 decisions a second on one core
  return table.verdict();
}

/// Policies as a platform has them: by plan, by route, by tenant.
std::vector<core::PolicyPtr> policies(int count) {
  std::string text = "policies:\n";
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const std::string match = i % 3 == 0   ? "plan: plan-" + number
                              : i % 3 == 1 ? "route: \"GET /api/v1/things" + number + "/{id}\""
                                           : "tenant: tenant-" + number;
    text += "  - { id: p" + number + ", match: { " + match +
            " }, key: [user], limit: 10, window: 60s, onStoreFailure: open }\n";
  }
  return config::parse(text, "bench.yaml").config.value().policies;
}

int matching(int argc, char** argv) {
  const auto few = policies(10);
  const auto many = policies(1'000);
  const config::Matcher ten(few);
  const config::Matcher thousand(many);
  const core::Descriptor request{
      {"plan", "plan-3"}, {"route", "GET /api/v1/things4/7"}, {"tenant", "tenant-5"}, {"user", "u"}};
  const auto match = [&](const config::Matcher& matcher) {
    for (int i = 0; i < kMatches; ++i) keep(matcher.match(request).size());
    return std::uint64_t{kMatches};
  };
  Comparison table("gate_match", argc, argv, Timer::thread_cpu);
  table.add("10 policies", [&] { return match(ten); });
  table.add("1,000 policies", [&] { return match(thousand); });
  table.run();
  table.expect_ratio("1,000 policies", "10 policies", 2.0);
  return table.verdict();
}

void wait_for(const NginxFront& front) {
  const bool up = testing::eventually([&] {
    try {
      asio::io_context context;
      tcp::socket(context).connect({asio::ip::address_v4::loopback(), front.port()});
      return true;
    } catch (const std::exception&) {
      return false;
    }
  });
  if (up) return;
  std::fprintf(stderr, "gate_nginx: nginx does not listen: %s\n", front.log().c_str());
  std::abort();
}

int behind_nginx(int argc, char** argv) {
  if (!NginxFront::installed()) {
    std::printf("gate_nginx: skipped: no nginx at %s\n", kNginx);
    return 0;
  }
  const BareBeast beast;
  const auto app = start_app();
  const NginxFront to_beast(beast.port());
  const NginxFront to_dripgate(app->port());
  wait_for(to_beast);
  wait_for(to_dripgate);
  Callers control(to_beast.port());
  Callers callers(to_dripgate.port());
  const std::string request = "GET /orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: k-1\r\n\r\n";
  Comparison table("gate_nginx", argc, argv,
                   [&] { return servers_ns() + to_beast.cpu_ns() + to_dripgate.cpu_ns(); });
  table.add("nginx, bare Beast 200", [&] { return control.call(request, kNginxRounds); });
  table.add("nginx, Dripgate", [&] { return callers.call(request, kNginxRounds); });
  table.run();
  // It would pass on what nobody answered, at no cost.
  if (to_dripgate.log().contains("upstream")) {
    std::fprintf(stderr, "gate_nginx: some were not answered in time: %s\n", to_dripgate.log().c_str());
    return 1;
  }
  table.expect_ratio("nginx, Dripgate", "nginx, bare Beast 200", kNginxMore);
  return table.verdict();
}

int run(int argc, char** argv) {
  const int http = over_http(argc, argv);
  const int nginx = behind_nginx(argc, argv);
  const int match = matching(argc, argv);
  return http != 0 ? http : nginx != 0 ? nginx : match;
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
