#include "integration_rls/gate_world.h"

#include <future>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/memory/stores.h"
#include "store/redis/stores.h"

namespace dripgate::histories {
namespace {

constexpr Duration kPatience = std::chrono::seconds{30};  // of a store call on a busy machine
constexpr timeval kAnswerPatience{.tv_sec = 60, .tv_usec = 0};

config::ConfigPtr load(const std::string& text) {
  auto loaded = config::parse(text, "histories.yaml");
  for (const auto& problem : loaded.problems)
    if (!problem.warning) throw std::runtime_error(config::to_string(problem));
  return std::make_shared<const config::Config>(*std::move(loaded.config));
}

template <class Server>
std::unique_ptr<Server> listening(Result<std::unique_ptr<Server>> server) {
  if (!server) throw std::runtime_error(server.error().detail);
  return *std::move(server);
}

}  // namespace

HttpCaller::HttpCaller(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kAnswerPatience, sizeof kAnswerPatience);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("the gate does not listen");
}

HttpCaller::~HttpCaller() {
  ::close(socket_);
}

nlohmann::json HttpCaller::post(const std::string& path, const nlohmann::json& body) {
  const std::string text = body.dump();
  std::string_view rest;
  const std::string request =
      "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(text.size()) +
      "\r\n\r\n" + text;
  for (rest = request; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) return {};
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  bytes_.clear();
  std::size_t head = std::string::npos;
  while ((head = bytes_.find("\r\n\r\n")) == std::string::npos)
    if (!read_more()) return {};
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t length = bytes_.find(kLength);
  if (length == std::string::npos || length > head) return {};
  const std::size_t size = head + 4 + std::stoul(bytes_.substr(length + kLength.size()));
  while (bytes_.size() < size)
    if (!read_more()) return {};
  return nlohmann::json::parse(bytes_.substr(head + 4), nullptr, false);
}

bool HttpCaller::read_more() {
  char buffer[16384];
  const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
  if (n > 0) bytes_.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

GateWorld::GateWorld(Where where, const std::string& config) : config_(load(config)) {
  if (where == Where::redis_cluster)
    connect_redis();
  else
    counters_ = store::make_memory_counter_store(clock_);
  guarded_ = std::make_unique<store::FailoverStore>(
      *counters_, [this](std::string_view key) { return client_ ? client_->shard(key) : 0; }, local_, loop_,
      steady_);
  checker_ = std::make_unique<check::Checker>(check::CheckerContext{.config = [this] { return config_; },
                                                                    .store = *guarded_,
                                                                    .clock = steady_,
                                                                    .observer = observer_,
                                                                    .refund_key = HashKey{1, 2}});
  gate_ = std::make_unique<server::testing::CheckerService>(*checker_);
  server::Routes routes = server::make_routes({.service = streams_,
                                               .config = [this] { return config_; },
                                               .metrics = metrics_,
                                               .log = log_,
                                               .gate = gate_.get()});
  http_ = listening(http::Server::listen({}, {&loop_}, std::move(routes.handler)));
  rls_ = listening(
      rls::Server::listen({}, {.executor = loop_, .gate = *gate_, .config = [this] { return config_; }}));
  set(clock_.now());
  thread_ = std::thread([this] { loop_.run(); });
}

GateWorld::~GateWorld() {
  rls_->stop(std::chrono::seconds{1});
  std::promise<void> stopped;
  http_->stop(Duration{0}, [&] { stopped.set_value(); });
  stopped.get_future().wait();
  loop_.stop();
  thread_.join();
}

void GateWorld::connect_redis() {
  steered_ = std::make_unique<testing::SteeredClock>();
  cluster_ = std::make_unique<testing::RedisCluster>(3, 0, testing::RedisOptions{.clock = steered_.get()});
  redis::Options options;
  options.layout = redis::Options::Layout::cluster;
  options.timeout = kPatience;
  for (std::size_t i = 0; i < cluster_->primaries(); ++i)
    options.nodes.push_back({.host = "127.0.0.1", .port = cluster_->node(i).port()});
  auto made = redis::make_client(loop_, std::move(options));
  if (!made) throw std::runtime_error(made.error().detail);
  client_ = *std::move(made);
  bool known = false;  // the slot map: before it a key's shard is a guess
  const std::string_view ping[] = {"PING"};
  client_->each_primary(ping, [&](auto) { known = true; });
  while (!known) loop_.run_for(std::chrono::milliseconds{5});
  counters_ = store::make_redis_counter_store(*client_, {.cluster = true});
}

/// What a refusal gives back is on its way when the answer is there, and is worth less at a later time: a
/// call that is sent behind it, and once more for a script that the server had not seen.
void GateWorld::let_settle() {
  for (int i = 0; i < 2; ++i) {
    std::promise<void> heard;
    loop_.post([&] {
      const std::string_view ping[] = {"PING"};
      client_->each_primary(ping, [&](auto) { heard.set_value(); });
    });
    heard.get_future().wait();
  }
}

void GateWorld::set(WallTime now) {
  if (client_ && thread_.joinable()) let_settle();
  clock_.set(now);
  if (steered_) steered_->set(now);
}

std::unique_ptr<rls_v3::RateLimitService::Stub> GateWorld::rls() const {
  return rls_v3::RateLimitService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(rls_->port()), grpc::InsecureChannelCredentials()));
}

}  // namespace dripgate::histories
