// Restart: which changes between two sets only a restart can make, because something was opened or bound with
// the old value. Called by the snapshot. Pure.
#include <algorithm>
#include <string>
#include <utility>

#include "config/snapshot.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::string_view kSentence = " needs a restart; the running set stays as it is";

class Comparison {
 public:
  Comparison(const Config& running, const Loaded& loaded)
      : running_(running), next_(*loaded.config), places_(loaded.places) {}

  std::vector<Problem> problems() {
    const Server& was = running_.server;
    const Server& is = next_.server;
    if (running_.store != next_.store) add("store", "another store");
    if (running_.gcp != next_.gcp) add("gcp", "another gcp");
    if (was.host != is.host || was.port != is.port) add("server", "another server.listen");
    if (was.rls != is.rls) add("server", "another server.rls");
    if (was.tls != is.tls) add("server", "another server.tls");
    compare_streams();
    return std::move(problems_);
  }

 private:
  void compare_streams() {
    for (const StreamSettings& was : running_.streams) {
      const StreamSettings* is = find(next_, was.stream->id);
      const std::string name = "stream " + in_quotes(was.stream->id);
      if (is == nullptr) {
        add("streams", "removing " + name);
      } else if (const std::string what = difference(was, *is); !what.empty()) {
        add("stream " + was.stream->id, "another " + what + " of " + name);
      }
    }
    for (const StreamSettings& is : next_.streams) {
      if (find(running_, is.stream->id) != nullptr) continue;
      add("stream " + is.stream->id, "adding stream " + in_quotes(is.stream->id));
    }
  }

  static const StreamSettings* find(const Config& config, const std::string& id) {
    const auto found = std::ranges::find(config.streams, id, [](const auto& s) { return s.stream->id; });
    return found == config.streams.end() ? nullptr : &*found;
  }

  static std::string difference(const StreamSettings& was, const StreamSettings& is) {
    if (was.source_topic != is.source_topic || was.pubsub != is.pubsub) return "source";
    if (was.cloud_tasks != is.cloud_tasks) return "timer";
    if (was.deliver != is.deliver) return "deliver";
    if (was.stream->overflow_topic != is.stream->overflow_topic) return "overflowTopic";
    if (was.stream->dead_letter_topic != is.stream->dead_letter_topic) return "deadLetterTopic";
    if (was.max_outstanding_messages != is.max_outstanding_messages) return "maxOutstandingMessages";
    if (was.max_outstanding_bytes != is.max_outstanding_bytes) return "maxOutstandingBytes";
    return {};
  }

  void add(const std::string& where, const std::string& what) {
    const auto place = places_.find(where);
    const Place at = place == places_.end() ? Place{} : place->second;
    problems_.push_back({next_.file, at.line, at.column, false, what + std::string(kSentence)});
  }

  const Config& running_;
  const Config& next_;
  const std::map<std::string, Place>& places_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> restart_problems(const Config& running, const Loaded& loaded) {
  return Comparison(running, loaded).problems();
}

}  // namespace dripgate::config
