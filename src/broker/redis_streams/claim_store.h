// Claims of one stream on Redis: a key for each, with an end; a sorted set of their ends and their size
// together, so that they are bounded. One partition. On the client's loop.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "base/guard.h"
#include "broker/claims.h"
#include "broker/redis_streams/context.h"

namespace dripgate::broker::redis_streams {

/// Cloud Tasks keeps a task for 31 days from its creation, whatever the horizon: a claim outlives its task.
inline constexpr Duration kClaimKept = std::chrono::hours{24 * 32};
/// After its entry was handled: Cloud Tasks may bring a task twice, or not hear that it was taken.
inline constexpr Duration kClaimGrace = std::chrono::minutes{10};
/// How long a later repeat is told that it is one.
inline constexpr Duration kClaimOverKept = std::chrono::hours{24};
/// Bytes of claims on their way to Redis at once, unless it is one; more wait.
inline constexpr std::size_t kClaimBytesInFlight = 16u << 20;
/// Ended claims whose size one put takes off.
inline constexpr std::size_t kClaimsForgotten = 256;

struct ClaimBounds {
  std::size_t claim_bytes_max = 0;  // of one
  std::size_t bytes_max = 0;        // of all claims of the stream
};

class ClaimStore final : public Claims {
 public:
  ClaimStore(ContextPtr context, const std::string& stream, ClaimBounds bounds);

  void put(std::string id, std::string bytes, ClaimOf of, Done<void> done) override;
  void find(std::string id, Done<FoundClaim> done) override;
  void let_go(std::string id) override;

 private:
  struct Put {
    std::string id;
    std::string bytes;
    ClaimOf of;
    Done<void> done;
  };

  [[nodiscard]] std::string key_of(const std::string& id) const { return claim_prefix_ + id; }
  [[nodiscard]] std::string over_key_of(const std::string& id) const { return over_prefix_ + id; }
  void pump();
  void send(Put put);

  ContextPtr context_;
  const ClaimBounds bounds_;
  const std::string claim_prefix_;
  const std::string over_prefix_;
  const std::string ages_;
  const std::string size_;
  redis::Script put_script_;
  redis::Script let_go_script_;
  std::deque<Put> waiting_;
  std::size_t bytes_in_flight_ = 0;
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
