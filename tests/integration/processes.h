// A sink and a `dripgate up` that delivers to it, each a process of its own, in a scratch folder. Restarts
// keep file and port, as an operator's would.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "integration/process.h"
#include "support/scratch_folder.h"

namespace dripgate::integration {

/// One line of the sink's log.
struct SinkLine {
  std::string id;
  std::string key;
  std::string released;
  int status = 0;
  std::size_t bytes = 0;  // of the body
};

struct StreamPlan {
  std::string limits = "[ { rps: 50 } ]";
  std::string more{};          // further lines of the stream, each "    name: value\n"
  std::string server{};        // further members of server: ", tokens: ..."
  std::string deliver_url{};   // instead of the sink's
  std::string deliver_more{};  // further members of deliver: ", ca: ..."
  std::string ca_file{};       // set: up is asked over https and must be signed by this
  std::string store = "{ sqlite: ./dripgate.db }";
  std::string source = "embedded";  // or "redis"
  std::string verb = "up";          // or "serve": the rest of the work is for other processes
  std::vector<std::string> sink_options{};
};

class Processes {
 public:
  explicit Processes(StreamPlan plan = {});
  /// Ends both; a sanitizer's report in what they wrote fails the test.
  ~Processes();

  /// Starts the sink, then up. False: not up in time; err() of up says why.
  bool start();
  bool start_up();
  void write_config(const StreamPlan& plan);

  [[nodiscard]] std::string url() const {
    return (plan_.ca_file.empty() ? "http" : "https") + std::string("://127.0.0.1:") + port_;
  }
  [[nodiscard]] std::string config() const { return folder.path("dripgate.yaml"); }
  [[nodiscard]] Process& up() { return *up_; }
  [[nodiscard]] Process& sink() { return *sink_; }
  /// Standard error of the sink and of every `up` that ran, in order.
  [[nodiscard]] std::string up_log() const;

  /// Runs a verb against this `up` to its end.
  Finished ask(std::vector<std::string> arguments);
  Finished publish(const std::string& lines, std::vector<std::string> options = {});

  [[nodiscard]] std::vector<SinkLine> sink_lines() const;
  [[nodiscard]] std::set<std::string> confirmed_ids() const;

  testing::ScratchFolder folder;

 private:
  StreamPlan plan_;
  std::string port_;
  std::string sink_port_;
  int starts_ = 0;
  int asked_ = 0;
  std::unique_ptr<Process> sink_;
  std::unique_ptr<Process> up_;
};

/// {"payoutId":"<prefix>1","merchant_id":"m<n>"} for ids 1..count over so many keys.
[[nodiscard]] std::string payout_lines(const std::string& prefix, int count, int keys);

/// Most releases of one key in one second, counting every (id, released) pair once: a redelivery that went
/// through the gate again counts again.
[[nodiscard]] std::size_t fullest_second(const std::vector<SinkLine>& lines);

}  // namespace dripgate::integration
