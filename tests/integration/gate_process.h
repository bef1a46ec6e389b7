// A `dripgate up` (or serve) that checks requests, and a caller of its HTTP API, on loopback.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "http/client.h"
#include "integration/process.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {

/// The two policies of the original design, as examples/policies.yaml has them.
[[nodiscard]] inline std::string original_policies() {
  return read_file(DRIPGATE_SOURCE_DIR "/examples/policies.yaml");
}

class GateProcess {
 public:
  /// `store`: the value of `store:`; `server`: further members of `server:`.
  explicit GateProcess(const std::string& store, const std::string& policies = original_policies(),
                       const std::string& verb = "up", const std::string& server = kAttributes)
      : verb_(verb) {
    write(store, policies, server);
  }
  ~GateProcess() {
    if (process_ != nullptr) process_->kill_hard();
    for (const char* mark : {"Sanitizer", "runtime error"})
      EXPECT_EQ(log().find(mark), std::string::npos) << log();
  }

  static constexpr const char* kAttributes =
      R"(forwardAuth: { attributes: { plan: "header:x-plan", apiKey: "header:x-api-key", username: "header:x-user" } })";

  void write(const std::string& store, const std::string& policies, const std::string& server = kAttributes) {
    write_file(config(),
               policies + "store: " + store + "\nserver: { listen: \"127.0.0.1:0\", " + server + " }\n");
  }
  bool start() {
    process_ = std::make_unique<Process>(std::vector<std::string>{verb_, "-c", config(), "--port", "0"},
                                         folder.path("up" + std::to_string(++starts_)));
    const auto listens = [&] { return port() != 0 || !process_->running(); };
    return eventually(listens) && port() != 0 && connect();
  }

  [[nodiscard]] std::string config() const { return folder.path("dripgate.yaml"); }
  [[nodiscard]] std::string log() const { return process_ == nullptr ? "" : process_->err(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  [[nodiscard]] Process& process() { return *process_; }

  http::Response call(http::Call call) {
    std::optional<Result<http::Response>> answer;
    client_->send(std::move(call), [&](Result<http::Response> got) { answer = std::move(got); });
    while (!answer) loop_.run_for(std::chrono::milliseconds{1});
    if (!*answer) ADD_FAILURE() << answer->error().detail << log();
    return answer->value_or(http::Response{.status = 0});
  }
  nlohmann::json post(const std::string& target, const std::string& body) {
    return nlohmann::json::parse(call({.target = target, .body = body}).body, nullptr, false);
  }
  http::Response forward(const std::string& method, const std::string& uri, http::Headers headers,
                         const std::string& query = "") {
    headers.emplace_back("X-Forwarded-Method", method);
    headers.emplace_back("X-Forwarded-Uri", uri);
    return call({.method = "GET", .target = "/v1/forward-auth" + query, .headers = std::move(headers)});
  }

  testing::ScratchFolder folder;

 private:
  [[nodiscard]] std::uint16_t port() const {
    const std::string text = log();
    const std::string mark = "listen=127.0.0.1:";
    const std::size_t at = text.rfind(mark);
    return at == std::string::npos ? 0
                                   : static_cast<std::uint16_t>(std::atoi(text.c_str() + at + mark.size()));
  }
  bool connect() {
    auto made = http::Client::make(loop_, {.host = "127.0.0.1", .port = port(), .target = "/"}, {});
    if (made) client_ = std::move(*made);
    return made.has_value();
  }

  std::string verb_;
  int starts_ = 0;
  std::unique_ptr<Process> process_;
  net::IoLoop loop_;
  std::unique_ptr<http::Client> client_;
};

}  // namespace dripgate::integration
