// AckBatches: acks and lease changes of one subscription as requests, one after the other. One id has one
// thing waiting at most: an ack or a hand-back takes the place of an extension that still waits, so that no
// extension arrives behind it. Pure: no clock, no executor.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace dripgate::broker::pubsub {

// Of one request: the service takes 512 KiB, its ids have at most 164 bytes.
inline constexpr std::size_t kAckIdsMax = 2500;
inline constexpr std::size_t kAckBytesMax = 500u << 10;
/// Of an id on the wire beside its own bytes.
inline constexpr std::size_t kAckIdOverhead = 4;

struct AckEntry {
  std::string id;
  Done<void> done{};  // may be empty
  int tries = 0;
};

struct AckRequest {
  std::optional<int> seconds;  // of the new lease from now; empty: acks
  std::vector<AckEntry> entries;

  [[nodiscard]] std::vector<std::string> ids() const;
};

class AckBatches {
 public:
  void ack(AckEntry entry);
  /// Takes the place of one that waits, whose `done` it keeps when it has none. Dropped, its `done`
  /// unanswered, when an ack of the id waits already.
  void modify(AckEntry entry, int seconds);
  /// An extension that waits is no longer wanted.
  void forget(const std::string& id);
  /// Acks and lease changes take turns while both wait.
  std::optional<AckRequest> next();
  [[nodiscard]] bool empty() const { return acks_.empty() && changes_.empty(); }

 private:
  struct Change {
    AckEntry entry;
    int seconds = 0;
  };

  AckRequest next_acks();
  AckRequest next_changes();

  std::deque<AckEntry> acks_;
  std::unordered_set<std::string> acking_;           // ids of acks_
  std::unordered_map<std::string, Change> changes_;  // by id
  std::map<int, std::deque<std::string>> order_;     // seconds -> ids; what changes_ no longer says is stale
  bool ack_turn_ = true;
};

}  // namespace dripgate::broker::pubsub
