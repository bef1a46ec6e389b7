#include "broker/redis_streams/claim_store.h"

#include <utility>

#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/lua/texts.h"
#include "broker/redis_streams/replies.h"

namespace dripgate::broker::redis_streams {
namespace {

std::string in_ms(Duration span) {
  return std::to_string(span / std::chrono::milliseconds{1});
}

}  // namespace

ClaimStore::ClaimStore(ContextPtr context, const std::string& stream, ClaimBounds bounds)
    : context_(std::move(context)),
      bounds_(bounds),
      claim_prefix_(claim_key(context_->options.prefix, partition_tag(stream, 0), {})),
      over_prefix_(claim_over_key(context_->options.prefix, partition_tag(stream, 0), {})),
      ages_(claim_ages_key(context_->options.prefix, partition_tag(stream, 0))),
      size_(claim_size_key(context_->options.prefix, partition_tag(stream, 0))),
      put_script_(lua::claim_put),
      let_go_script_(lua::claim_let_go) {}

void ClaimStore::put(std::string id, std::string bytes, ClaimOf of, Done<void> done) {
  if (bytes.size() > bounds_.claim_bytes_max) {
    return done(fail(ErrorCode::too_large, "its claim would be " + std::to_string(bytes.size()) +
                                               " bytes; accepted: at most " +
                                               std::to_string(bounds_.claim_bytes_max)));
  }
  if (waiting_.size() >= kQueuedCallsMax)
    return done(fail(ErrorCode::full, "too many claims wait to be written", true));
  waiting_.push_back({std::move(id), std::move(bytes), of, std::move(done)});
  pump();
}

void ClaimStore::pump() {
  while (!waiting_.empty() &&
         (bytes_in_flight_ == 0 || bytes_in_flight_ + waiting_.front().bytes.size() <= kClaimBytesInFlight)) {
    Put put = std::move(waiting_.front());
    waiting_.pop_front();
    send(std::move(put));
  }
}

void ClaimStore::send(Put put) {
  const std::size_t size = put.bytes.size();
  bytes_in_flight_ += size;
  const std::string key = key_of(put.id);
  const std::string over = over_key_of(put.id);
  const std::string kept = in_ms(kClaimKept);
  const std::string most =
      std::to_string(put.of == ClaimOf::moved_event ? 2 * bounds_.bytes_max : bounds_.bytes_max);
  const std::string forgotten = std::to_string(kClaimsForgotten);
  const std::string_view keys[] = {key, ages_, size_, over};
  const std::string_view arguments[] = {put.id, put.bytes, kept, most, forgotten};
  context_->client.run(
      put_script_, keys, arguments, context_->options.call_timeout,
      guard_.wrap([this, size, most, done = std::move(put.done)](Result<redis::Reply> reply) mutable {
        bytes_in_flight_ -= size;
        const std::int64_t* all = reply ? reply->integer() : nullptr;
        if (!reply) {
          done(std::unexpected(reply.error()));
        } else if (all == nullptr) {
          done(odd_reply(size_));
        } else if (*all >= 0) {
          done(fail(ErrorCode::too_large, "the claims of the stream have no room for " +
                                              std::to_string(size) + " bytes: " + std::to_string(*all) +
                                              " of " + most + " are taken"));
        } else {
          done({});
        }
        pump();
      }));
}

void ClaimStore::find(std::string id, Done<FoundClaim> done) {
  const std::string key = key_of(id);
  const std::string over = over_key_of(id);
  const std::string_view words[] = {"MGET", key, over};
  context_->client.command(key, words, context_->options.call_timeout,
                           guard_.wrap([key, done = std::move(done)](Result<redis::Reply> reply) mutable {
                             if (!reply) return done(std::unexpected(reply.error()));
                             auto* items = std::get_if<std::vector<redis::Reply>>(&reply->value);
                             if (items == nullptr || items->size() != 2) return done(odd_reply(key));
                             FoundClaim found{.bytes = {}, .over = items->at(1).text() != nullptr};
                             if (auto* bytes = std::get_if<std::string>(&items->at(0).value))
                               found.bytes = std::move(*bytes);
                             done(std::move(found));
                           }));
}

void ClaimStore::let_go(std::string id) {
  const std::string key = key_of(id);
  const std::string over = over_key_of(id);
  const std::string grace = in_ms(kClaimGrace);
  const std::string over_kept = in_ms(kClaimOverKept);
  const std::string_view keys[] = {key, ages_, size_, over};
  const std::string_view arguments[] = {id, grace, over_kept};
  // Unheard, it ends with its own age.
  context_->client.run(let_go_script_, keys, arguments, context_->options.call_timeout,
                       [](const Result<redis::Reply>&) {});
}

}  // namespace dripgate::broker::redis_streams
