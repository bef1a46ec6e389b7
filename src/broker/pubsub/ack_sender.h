// AckSender: acks and lease changes of one subscription, one request on its way at a time, so that they
// arrive in the order in which they were decided. Repeats what may succeed later. On the executor.
#pragma once

#include <string>

#include "base/guard.h"
#include "broker/pubsub/ack_batches.h"
#include "broker/pubsub/context.h"

namespace dripgate::broker::pubsub {

inline constexpr Duration kAckDeadline = 10s;
/// After calls that failed the subscription is left alone, at most so long: leases want to be kept.
inline constexpr Duration kSenderWaitMax = 5s;
/// Sends of one ack: with the waits between them two minutes.
inline constexpr int kAckTriesMax = 30;
/// Sends of one lease change: soon it would be too late anyway.
inline constexpr int kModifyTriesMax = 3;

class AckSender {
 public:
  AckSender(ContextPtr context, std::string subscription)
      : context_(std::move(context)), subscription_(std::move(subscription)) {}

  /// `done` with an error: it may have been acked all the same, or the message comes again.
  void ack(std::string id, Done<void> done);
  /// The lease ends `seconds` from now; 0: it is handed back at once. `done` may be empty; it is not called
  /// when an ack of this id took the place of this.
  void modify(std::string id, int seconds, Done<void> done);
  void forget(const std::string& id) { batches_.forget(id); }

 private:
  void post_look();
  void look();
  void answered(AckRequest request, Answer<void> answer);
  void again(AckRequest request, const Failure& failure);

  ContextPtr context_;
  std::string subscription_;
  AckBatches batches_;
  int failures_ = 0;  // calls in a row
  bool busy_ = false;
  bool look_posted_ = false;
  Guard guard_;
};

}  // namespace dripgate::broker::pubsub
