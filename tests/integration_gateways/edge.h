// A gateway of deploy/ between a client and an app, with Dripgate asked by it: real binaries, and the shipped
// files with other ports.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/process.h"
#include "integration_gateways/wire.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {

/// While Dripgate does not answer.
enum class Away { pass, refuse };

/// A program of this machine, or empty.
[[nodiscard]] std::string program_of(const std::string& gateway);

class Edge {
 public:
  using Changes = std::vector<std::pair<std::string, std::string>>;

  /// `gateway`: a folder of deploy/. `changes`: of Dripgate's config, which is that of the gateway's README.
  /// `lines`: comments of the gateway's files that are to be lines.
  explicit Edge(std::string gateway, const Changes& changes = {}, Changes lines = {});
  ~Edge();

  [[nodiscard]] Message get(const Ask& request, Away away = Away::pass) const;
  /// As get, again while the answer shows that Dripgate was not heard in time (it has 20 to 100 ms on a
  /// machine that others use): the app's answer without RateLimit, or 503 without a policy.
  [[nodiscard]] Message decided(const Ask& request, Away away = Away::pass) const;

  /// Header lines of the free plan's user with that key; the examples know k-1 and k-2.
  [[nodiscard]] Lines free_plan(const std::string& key) const;
  [[nodiscard]] Ask login(const std::string& user, const std::string& path = "/auth/login") const {
    return {.method = "POST", .path = path, .headers = {"X-Username: " + user}, .body = "password=1"};
  }
  [[nodiscard]] bool is_envoy() const { return gateway_ == "envoy"; }

  testing::ScratchFolder folder;
  SmallApp app;
  std::unique_ptr<Process> dripgate;
  std::unique_ptr<Process> process;  // the gateway

 private:
  void start_dripgate(const Changes& changes);
  void start_gateway();
  [[nodiscard]] std::unique_ptr<Process> run_gateway(const std::string& files);
  void place_files(const std::string& files) const;

  std::string gateway_;
  Changes lines_;
  std::string dripgate_port_;
  std::uint16_t passes_ = 0;           // port of the variant that passes
  std::uint16_t refuses_ = 0;          // of the one that refuses
  std::unique_ptr<Process> refusing_;  // Envoy has one variant a process
};

}  // namespace dripgate::integration
