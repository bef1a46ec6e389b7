// PublishRun: sends batches of events to a running `dripgate up` over several connections and counts what
// became of them. A batch that got no answer, or "not now" (429, 5xx), is sent again with the same ids
// after a growing wait, so that nothing is published twice. On one IoLoop; used by `dripgate publish` and the
// demo.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/api_client.h"
#include "cli/line_batches.h"
#include "http/client.h"

namespace dripgate::cli {

inline constexpr Duration kRetryWaitFirst = 100ms;
inline constexpr Duration kRetryWaitMax = 5s;
inline constexpr int kRetriesDefault = 10;
/// A server that has never answered is given up sooner.
inline constexpr int kFirstContactRetries = 3;

/// Events by what the server said of them.
struct Tally {
  std::uint64_t now = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t dead_letter = 0;
  std::uint64_t accepted = 0;  // stored durably, no verdict yet
  std::uint64_t duplicate = 0;
  std::uint64_t conflict = 0;
  std::uint64_t failed = 0;   // not stored
  std::uint64_t retries = 0;  // batches sent again
  std::string first_fault;    // one sentence

  [[nodiscard]] std::uint64_t events() const {
    return now + scheduled + dead_letter + accepted + duplicate + conflict + failed;
  }
};

/// Adds the answer to a batch of `events`. False: it is not the answer to so many, nothing is added.
bool add_answer(const std::string& body, std::size_t events, Tally& tally);

struct PublishPlan {
  std::string stream;
  std::string id_prefix;
  std::size_t concurrency = 4;
  int retries = kRetriesDefault;
  int first_contact_retries = kFirstContactRetries;
  Duration timeout = 30s;
};

class PublishRun {
 public:
  /// Everything referred to outlives the run. `finished` is called once.
  PublishRun(net::IoLoop& loop, http::Client& client, http::Headers headers, LineBatches& batches,
             PublishPlan plan, Task finished);
  void start() { fill(); }

  [[nodiscard]] const Tally& tally() const { return tally_; }
  /// The server answered at least once.
  [[nodiscard]] bool reached() const { return reached_; }

 private:
  struct Sending {
    Batch batch;
    int attempt = 0;
  };
  using SendingPtr = std::shared_ptr<Sending>;

  void fill();
  void send(const SendingPtr& sending);
  void answered(const SendingPtr& sending, Result<http::Response> answer);
  void again(const SendingPtr& sending, Duration wait, std::string fault);
  void give_up(const SendingPtr& sending, std::string fault);
  void next();

  net::IoLoop& loop_;
  http::Client& client_;
  http::Headers headers_;
  LineBatches& batches_;
  PublishPlan plan_;
  Task finished_;
  Tally tally_;
  std::size_t in_flight_ = 0;
  bool reached_ = false;
  bool stopped_ = false;  // what failed one batch would fail every other
};

}  // namespace dripgate::cli
