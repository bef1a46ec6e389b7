// DeadLetters of one topic on Redis: a stream of letters, a sorted set of their ages, a hash of their names.
// One partition: sequences ascend. Every call is bounded: a page, one letter, or a batch of a purge. On the
// client's loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/guard.h"
#include "broker/dead_letter.h"
#include "broker/redis_streams/script_queue.h"

namespace dripgate::broker::redis_streams {

/// Letters of one page, whatever the caller asks for ...
inline constexpr std::size_t kDeadLetterPageMax = 1000;
/// ... and a page ends once it holds this many bytes: Redis does nothing else meanwhile.
inline constexpr std::size_t kDeadLetterPageBytesMax = 4u << 20;
/// Letters that one purge call removes.
inline constexpr std::size_t kPurgeBatch = 256;

class DeadLetterList final : public DeadLetters {
 public:
  DeadLetterList(ContextPtr context, const std::string& topic);

  void add(DeadLetter letter, Done<void> done) override;
  void list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) override;
  void find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) override;
  void remove(std::uint64_t sequence, Done<bool> done) override;
  void purge(WallTime before, Done<std::uint64_t> done) override;

 private:
  struct Keys {
    std::string letters;
    std::string ages;
    std::string names;
  };

  void count_gone(const redis::Script& script, redis::Words arguments, Done<std::uint64_t> done);

  ContextPtr context_;
  Keys keys_;
  ScriptQueue adds_;
  redis::Script list_script_;
  redis::Script remove_script_;
  redis::Script purge_script_;
  Guard guard_;
};

}  // namespace dripgate::broker::redis_streams
