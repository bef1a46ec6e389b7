#include "integration_gateways/edge.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = DRIPGATE_SOURCE_DIR "/";
constexpr int kTries = 50;  // until a slow machine lets Dripgate be heard in time

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  for (; at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
  return text;
}

void replace_if_there(std::string& text, const std::string& what, const std::string& by) {
  if (text.contains(what)) text = replaced(text, what, by);
}

std::string port_after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.rfind(mark + "127.0.0.1:");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size() + std::string("127.0.0.1:").size();
  return text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
}

bool was_decided(const Message& answer) {
  if (answer.status() == 503) return answer.body.contains("\"policy\"");
  return answer.status() != 200 || answer.header("RateLimit") != "(none)";
}

}  // namespace

std::string program_of(const std::string& gateway) {
  const std::string envoy = kRoot + "build/envoy/envoy";  // `./dev test` puts it there
  const std::string path = gateway == "envoy"     ? envoy
                           : gateway == "caddy"   ? "/usr/bin/caddy"
                           : gateway == "haproxy" ? "/usr/sbin/haproxy"
                                                  : "/usr/sbin/nginx";
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

Edge::Edge(std::string gateway, const Changes& changes, Changes lines)
    : gateway_(std::move(gateway)), lines_(std::move(lines)) {
  start_dripgate(changes);
  start_gateway();
}

Edge::~Edge() {
  process.reset();
  refusing_.reset();
  dripgate->kill_hard();
  for (const char* mark : {"Sanitizer", "runtime error"})
    EXPECT_FALSE(dripgate->err().contains(mark)) << dripgate->err();
}

void Edge::start_dripgate(const Changes& changes) {
  std::string config = read_file(kRoot + (is_envoy() ? "deploy/envoy/dripgate.yaml" : "examples/gate.yaml"));
  EXPECT_TRUE(config.contains(read_file(kRoot + "examples/policies.yaml")))
      << "the original design, unchanged";
  config = replaced(config, "127.0.0.1:8080", "127.0.0.1:0");
  if (is_envoy()) config = replaced(config, "127.0.0.1:8081", "127.0.0.1:0") + "store: { memory: {} }\n";
  for (const auto& [what, by] : changes) config = replaced(config, what, by);
  write_file(folder.path("dripgate.yaml"), config);
  dripgate = std::make_unique<Process>(std::vector<std::string>{"up", "-c", folder.path("dripgate.yaml")},
                                       folder.path("up"));
  const std::string mark = is_envoy() ? "rls=" : "listen=";
  (void)eventually([&] {
    dripgate_port_ = port_after(dripgate->err(), mark);
    return !dripgate_port_.empty() || !dripgate->running();
  });
  EXPECT_FALSE(dripgate_port_.empty()) << dripgate->err();
}

/// The whole folder of the example, with the ports of this test.
void Edge::place_files(const std::string& files) const {
  fs::create_directories(files);
  for (const auto& entry : fs::directory_iterator(kRoot + "deploy/" + gateway_)) {
    std::string text = read_file(entry.path());
    const std::string behind = std::to_string(app.port());
    const std::string passes = std::to_string(passes_), refuses = std::to_string(refuses_);
    if (is_envoy()) {
      replace_if_there(text, "port_value: 10000", "port_value: " + passes);
      replace_if_there(text, "port_value: 9000", "port_value: " + behind);
      replace_if_there(text, "port_value: 8081", "port_value: " + dripgate_port_);
    } else {
      replace_if_there(text, "127.0.0.1:9000", "127.0.0.1:" + behind);
      replace_if_there(text, "127.0.0.1:8080", "127.0.0.1:" + dripgate_port_);
      for (const char* before : {"127.0.0.1:", "http://:"}) {
        replace_if_there(text, std::string(before) + "8000", before + passes);
        replace_if_there(text, std::string(before) + "8001", before + refuses);
      }
    }
    for (const auto& [what, by] : lines_) replace_if_there(text, what, by);
    write_file(files + "/" + entry.path().filename().string(), text);
  }
}

std::unique_ptr<Process> Edge::run_gateway(const std::string& files) {
  std::vector<std::string> arguments;
  if (gateway_ == "nginx")
    arguments = {"-p", folder.path(""), "-e", "stderr", "-c", files + "/nginx.conf", "-g", "user root;"};
  if (gateway_ == "haproxy") arguments = {"-f", files + "/haproxy.cfg"};
  if (gateway_ == "caddy") arguments = {"run", "--config", files + "/Caddyfile"};
  if (is_envoy()) arguments = {"-c", files + "/envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1"};
  return std::make_unique<Process>(arguments, files + ".log", program_of(gateway_));
}

void Edge::start_gateway() {
  passes_ = testing::free_port();
  refuses_ = testing::free_port();
  place_files(folder.path("passes"));
  process = run_gateway(folder.path("passes"));
  if (is_envoy()) {
    std::swap(passes_, refuses_);
    place_files(folder.path("refuses"));
    std::swap(passes_, refuses_);
    const std::string file = folder.path("refuses") + "/envoy.yaml";
    write_file(file, replaced(read_file(file), "failure_mode_deny: false", "failure_mode_deny: true"));
    refusing_ = run_gateway(folder.path("refuses"));
  }
  // Until it asks: k-2 is for this alone.
  const Ask warm_up{.path = "/warm-up", .headers = free_plan("k-2")};
  for (const Away away : {Away::pass, Away::refuse}) {
    EXPECT_TRUE(eventually([&] {
      return get(warm_up, away).header("RateLimit") != "(none)" || !process->running() ||
             !dripgate->running();
    })) << process->err();
  }
  EXPECT_TRUE(process->running()) << process->err();
  EXPECT_TRUE(dripgate->running()) << dripgate->err();
}

Message Edge::get(const Ask& request, Away away) const {
  return ask(away == Away::pass ? passes_ : refuses_, request);
}

Message Edge::decided(const Ask& request, Away away) const {
  Message answer;
  for (int i = 0; i < kTries; ++i) {
    answer = get(request, away);
    if (was_decided(answer)) break;
  }
  return answer;
}

Lines Edge::free_plan(const std::string& key) const {
  Lines lines{"X-API-Key: " + key};
  if (is_envoy()) lines.emplace_back("X-Plan: free");  // the example's authentication is to set it
  return lines;
}

}  // namespace dripgate::integration
