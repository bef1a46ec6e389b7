#include "support/redis/redis_server.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dripgate::testing {
namespace {

constexpr int kStartTries = 5;  // another process may take a free port before the server does
constexpr timeval kAskPatience{.tv_sec = 10, .tv_usec = 0};

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_ERROR:
      return "-" + std::string(reply.str, reply.len);
    case REDIS_REPLY_ARRAY: {
      std::string text;
      for (std::size_t i = 0; i < reply.elements; ++i)
        text += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
      return text;
    }
    case REDIS_REPLY_NIL:
      return "";
    default:
      return std::string(reply.str, reply.len);
  }
}

std::string ask_on(redisContext& connection, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  void* reply = redisCommandArgv(&connection, static_cast<int>(texts.size()), texts.data(), sizes.data());
  if (reply == nullptr) return std::string("-no answer: ") + connection.errstr;
  const std::unique_ptr<void, decltype(&freeReplyObject)> owner(reply, &freeReplyObject);
  return text_of(*static_cast<redisReply*>(reply));
}

}  // namespace

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

std::string ask_redis(std::uint16_t port, const std::vector<std::string>& words,
                      const std::string& password) {
  const std::unique_ptr<redisContext, decltype(&redisFree)> connection(
      redisConnectWithTimeout("127.0.0.1", port, kAskPatience), &redisFree);
  if (!connection || connection->err != 0) return "-no connection";
  redisSetTimeout(connection.get(), kAskPatience);
  if (!password.empty()) {
    if (const std::string said = ask_on(*connection, {"AUTH", password}); said != "OK") return said;
  }
  return ask_on(*connection, words);
}

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  for (int i = 0; i < kStartTries; ++i) {
    port_ = free_port();
    if (options_.tls) tls_port_ = free_port();
    if (options_.cluster) bus_port_ = free_port();
    write_config();
    if (start()) return;
  }
  throw std::runtime_error("redis-server does not start: " + log());
}

void RedisServer::restart() {
  for (int i = 0; i < kStartTries; ++i) {
    if (start()) return;
  }
  throw std::runtime_error("redis-server does not start again: " + log());
}

void RedisServer::write_config() {
  std::ofstream config(folder_.path("redis.conf"), std::ios::trunc);
  config << "port " << port_ << "\nbind 127.0.0.1\nprotected-mode no\ndaemonize no\nsave \"\"\n"
         << "dir " << folder_.path("") << "\n";
  if (!options_.password.empty()) config << "requirepass " << options_.password << "\n";
  if (options_.cluster) {
    config << "cluster-enabled yes\ncluster-config-file nodes.conf\ncluster-port " << bus_port_ << "\n";
  }
  if (options_.tls) {
    config << "tls-port " << tls_port_ << "\ntls-ca-cert-file " << options_.tls->ca_file << "\ntls-cert-file "
           << options_.tls->cert_file << "\ntls-key-file " << options_.tls->key_file << "\ntls-auth-clients "
           << (options_.tls->ask_clients ? "yes" : "no") << "\n";
  }
  for (const std::string& line : options_.lines) config << line << "\n";
}

bool RedisServer::start() {
  std::vector<std::string> words{"/usr/bin/redis-server", folder_.path("redis.conf")};
  if (options_.sentinel) words.emplace_back("--sentinel");
  std::vector<std::string> environment;
  if (options_.clock != nullptr) environment = {options_.clock->preload(), options_.clock->file()};
  log_start_ = log().size();
  process_ = std::make_unique<ChildProcess>(words, environment, folder_.path("log"));
  (void)eventually([this] { return ready() || !process_->running(); });
  return ready() && process_->running();
}

bool RedisServer::ready() const {
  const char* sign = options_.sentinel ? "Sentinel ID is" : "Ready to accept connections";
  return log().find(sign, log_start_) != std::string::npos;
}

std::string RedisServer::log() const {
  std::ifstream in(folder_.path("log"), std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace dripgate::testing
