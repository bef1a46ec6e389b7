#include "integration/processes.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace dripgate::integration {
namespace {

/// The number after the last "<mark>127.0.0.1:" in a text; empty: not there yet.
std::string port_after(const std::string& text, const std::string& mark) {
  const std::string before = mark + "127.0.0.1:";
  const std::size_t at = text.rfind(before);
  if (at == std::string::npos) return {};
  std::size_t end = at + before.size();
  const std::size_t begin = end;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end < text.size() ? text.substr(begin, end - begin) : std::string();
}

/// Free right now. The config must name it, because a reload may not change it.
std::string free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
  ::close(socket);
  return std::to_string(bound ? ntohs(address.sin_port) : 0);
}

}  // namespace

Processes::Processes(StreamPlan plan) : plan_(std::move(plan)), port_(free_port()) {}

Processes::~Processes() {
  if (up_ != nullptr) up_->kill_hard();
  const std::string log = up_log();
  for (const char* mark : {"Sanitizer", "runtime error"}) EXPECT_EQ(log.find(mark), std::string::npos) << log;
}

void Processes::write_config(const StreamPlan& plan) {
  plan_ = plan;
  write_file(
      config(),
      "store: " + plan.store +
          "\nstreams:\n"
          "  - id: payouts\n"
          "    source: { " +
          plan.source +
          ": payouts }\n"
          "    eventId: \"{payoutId}\"\n"
          "    key: \"merchant_{merchant_id}:payout\"\n"
          "    limits: " +
          plan.limits +
          "\n    spread: start\n    maxDelay: 2h\n"
          "    deliver: { http: \"" +
          (plan.deliver_url.empty() ? "http://127.0.0.1:" + sink_port_ + "/payouts" : plan.deliver_url) +
          "\", timeout: 10s" + plan.deliver_more +
          " }\n"
          "    overflowTopic: payouts-overflow\n"
          "    deadLetterTopic: payouts-dlq\n" +
          plan.more + "server: { listen: \"127.0.0.1:" + port_ + "\"" + plan.server + " }\n");
}

bool Processes::start() {
  std::vector<std::string> arguments{"sink", "--listen", "127.0.0.1:0", "--log", folder.path("sink.log")};
  arguments.insert(arguments.end(), plan_.sink_options.begin(), plan_.sink_options.end());
  sink_ = std::make_unique<Process>(arguments, folder.path("sink"));
  (void)eventually([&] {
    sink_port_ = port_after(sink_->err(), "listens on ");
    return !sink_port_.empty() || !sink_->running();
  });
  if (sink_port_.empty()) return false;
  write_config(plan_);
  return start_up();
}

bool Processes::start_up() {
  up_.reset();
  up_ = std::make_unique<Process>(std::vector<std::string>{plan_.verb, "-c", config()},
                                  folder.path("up-" + std::to_string(starts_++)));
  std::string port;
  const bool came = eventually([&] {
    port = port_after(up_->err(), "listen=");
    return !port.empty() || !up_->running();
  });
  return came && !port.empty();
}

std::string Processes::up_log() const {
  std::string log = sink_ != nullptr ? sink_->err() : "";
  for (int i = 0; i < starts_; ++i) log += read_file(folder.path("up-" + std::to_string(i) + ".err"));
  return log;
}

Finished Processes::ask(std::vector<std::string> arguments) {
  arguments.push_back("--url");
  arguments.push_back(url());
  if (!plan_.ca_file.empty()) arguments.insert(arguments.end(), {"--ca-file", plan_.ca_file});
  return run(arguments, folder.path("ask-" + std::to_string(asked_++)));
}

Finished Processes::publish(const std::string& lines, std::vector<std::string> options) {
  const std::string file = folder.path("events-" + std::to_string(asked_) + ".ndjson");
  write_file(file, lines);
  std::vector<std::string> arguments{"publish", "payouts", file, "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return ask(std::move(arguments));
}

std::vector<SinkLine> Processes::sink_lines() const {
  std::vector<SinkLine> lines;
  std::istringstream log(read_file(folder.path("sink.log")));
  for (std::string text; std::getline(log, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) continue;  // still being written
    lines.push_back({line.value("id", std::string()), line.value("key", std::string()),
                     line.value("released", std::string()), line.value("status", 0),
                     line.value("bytes", std::size_t{0})});
  }
  return lines;
}

std::set<std::string> Processes::confirmed_ids() const {
  std::set<std::string> ids;
  for (const SinkLine& line : sink_lines()) {
    if (line.status == 200) ids.insert(line.id);
  }
  return ids;
}

std::string payout_lines(const std::string& prefix, int count, int keys) {
  std::string lines;
  for (int i = 1; i <= count; ++i) {
    lines += R"({"payoutId":")" + prefix + std::to_string(i) + R"(","merchant_id":"m)" +
             std::to_string(i % keys) + R"(","amount":2500.00})" + "\n";
  }
  return lines;
}

std::size_t fullest_second(const std::vector<SinkLine>& lines) {
  std::set<std::pair<std::string, std::string>> seen;
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  std::size_t most = 0;
  for (const SinkLine& line : lines) {
    if (!seen.insert({line.id, line.released}).second) continue;
    // "2026-08-03T14:02:00.123Z": the first 19 characters name the second.
    most = std::max(most, ++counts[{line.key, line.released.substr(0, 19)}]);
  }
  return most;
}

}  // namespace dripgate::integration
