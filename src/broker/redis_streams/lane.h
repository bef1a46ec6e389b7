// Lane: one partition of a topic as this process' consumer reads it. Reads are polls: a read that blocks in
// Redis would hold up everything behind it on the shared connection, and a connection of its own per
// partition, source and process is what a large fleet runs out of first. An empty poll costs Redis about 2
// us; its waits double up to kPollMax, and a publish of the same process ends them at once (topic_source.cc).
// A consumer that comes back under its name gets its own pending entries first; those of others are claimed
// once they were idle for kClaimIdle. Calls answer nobody once the Lane is gone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/redis_streams/context.h"
#include "broker/redis_streams/replies.h"
#include "broker/redis_streams/script_queue.h"

namespace dripgate::broker::redis_streams {

/// Leases of what is in our hands are renewed so often ...
inline constexpr Duration kLeaseKeepInterval = 10s;
/// ... and an entry that nobody renewed for so long is anybody's.
inline constexpr Duration kClaimIdle = 30s;
/// Entries of one read, claim or renewal.
inline constexpr std::size_t kReadBatch = 128;
/// A consumer without pending entries is forgotten after this.
inline constexpr Duration kConsumerForgottenAfter = 1h;

class Lane {
 public:
  using Entries = std::vector<StreamEntry>;

  Lane(ContextPtr context, const std::string& topic, std::size_t partition);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// The next entries, none when there are none now. Makes the group where it is missing (a new topic, a
  /// Redis that lost its data). `again` (below) tells which kind they are.
  void read(std::size_t count, Done<Entries> done);
  /// What read() gives next was in this consumer's hands before.
  [[nodiscard]] bool in_history() const { return !history_from_.empty(); }
  /// Entries of consumers that left them alone, out of one part of all that is pending.
  void claim(std::size_t count, Done<Entries> done);
  /// The last claim has not come to the end yet.
  [[nodiscard]] bool has_more_to_claim() const { return claim_from_ != "0-0"; }
  /// Entries that this consumer has pending, once more; what is gone is left out.
  void reread(std::span<const std::string> ids, Done<Entries> done);
  /// Renews leases. No answer: the next renewal comes soon enough.
  void keep(std::span<const std::string> ids);
  void ack(const std::string& id, Done<void> done);
  void forget_consumers();

  [[nodiscard]] const std::string& name() const { return name_; }  // "payouts-0"

 private:
  void send(const std::vector<std::string>& words, Done<redis::Reply> done);
  void read_on(Entries entries, Done<Entries> done);
  void make_group(std::size_t count, Done<Entries> done);
  [[nodiscard]] std::vector<std::string> claim_words(std::span<const std::string> ids) const;

  ContextPtr context_;
  std::string name_;
  std::string key_;
  std::string history_from_ = "0";  // own pending entries behind this id; empty: all were seen
  std::string claim_from_ = "0-0";
  ScriptQueue acks_;
  redis::Script forget_script_;
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
