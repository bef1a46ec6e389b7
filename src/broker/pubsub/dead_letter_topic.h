// DeadLetterTopic: dead letters of a stream on Pub/Sub. The letters themselves are kept where they can be
// listed, replayed and purged; each is published to the stream's dead-letter topic as well, for alerts and
// whoever else listens. On the executor of both.
#pragma once

#include <memory>

#include "base/guard.h"
#include "broker/dead_letter.h"
#include "broker/publisher.h"

namespace dripgate::broker::pubsub {

// Attributes of a published letter, beside those of the message.
inline constexpr std::string_view kReasonAttribute = "dripgate-reason";
inline constexpr std::string_view kDetailAttribute = "dripgate-detail";
inline constexpr std::string_view kAttemptsAttribute = "dripgate-attempts";
inline constexpr std::string_view kFirstReceivedAttribute = "dripgate-first-received";  // RFC 3339
inline constexpr std::string_view kDeadAtAttribute = "dripgate-dead-at";                // RFC 3339
inline constexpr std::string_view kCutAttribute = "dripgate-cut";  // what Pub/Sub cannot take is not with it
/// A longer detail is cut: a person reads it.
inline constexpr std::size_t kDetailBytesMax = 900;

class DeadLetterTopic final : public DeadLetters {
 public:
  DeadLetterTopic(std::unique_ptr<DeadLetters> kept, std::unique_ptr<Publisher> topic)
      : kept_(std::move(kept)), topic_(std::move(topic)) {}

  /// Published first, then kept: what is acked is in both. A kill in between publishes it once more. One that
  /// the topic cannot take is told there without its bytes and attributes (kCutAttribute).
  void add(DeadLetter letter, Done<void> done) override;
  void list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) override {
    kept_->list(after, count, std::move(done));
  }
  void find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) override {
    kept_->find(sequence, std::move(done));
  }
  void remove(std::uint64_t sequence, Done<bool> done) override { kept_->remove(sequence, std::move(done)); }
  void purge(WallTime before, Done<std::uint64_t> done) override { kept_->purge(before, std::move(done)); }

 private:
  void publish(Message message, DeadLetter letter, Done<void> done, bool whole);

  std::unique_ptr<DeadLetters> kept_;
  std::unique_ptr<Publisher> topic_;
  Guard guard_;
};

}  // namespace dripgate::broker::pubsub
