#include "broker/redis_streams/lane.h"

#include <utility>

#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/lua/texts.h"

namespace dripgate::broker::redis_streams {
namespace {

std::string milliseconds(Duration span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

}  // namespace

Lane::Lane(ContextPtr context, const std::string& topic, std::size_t partition)
    : context_(std::move(context)),
      name_(topic + "-" + std::to_string(partition)),
      key_(stream_key(context_->options.prefix, partition_tag(topic, partition))),
      acks_(context_, lua::ack, {key_}, {context_->options.group}),
      forget_script_(lua::forget_consumers) {}

void Lane::send(const std::vector<std::string>& words, Done<redis::Reply> done) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  context_->client.command(key_, views, context_->options.call_timeout, std::move(done));
}

void Lane::read(std::size_t count, Done<Entries> done) {
  const Options& options = context_->options;
  const std::string from = in_history() ? history_from_ : ">";
  send({"XREADGROUP", "GROUP", options.group, options.consumer, "COUNT", std::to_string(count), "STREAMS",
        key_, from},
       guard_.wrap([this, count, kept = std::move(done)](Result<redis::Reply> reply) mutable {
         if (reply) return read_on(take_read(*reply), std::move(kept));
         if (reply.error().code == ErrorCode::not_found) return make_group(count, std::move(kept));
         kept(std::unexpected(reply.error()));
       }));
}

void Lane::read_on(Entries entries, Done<Entries> done) {
  if (in_history()) history_from_ = entries.empty() ? "" : entries.back().id;
  done(std::move(entries));
}

// From the beginning: what was published before anybody read is for this group too.
void Lane::make_group(std::size_t count, Done<Entries> done) {
  send({"XGROUP", "CREATE", key_, context_->options.group, "0", "MKSTREAM"},
       guard_.wrap([this, count, kept = std::move(done)](Result<redis::Reply> reply) mutable {
         const bool there = reply || reply.error().code == ErrorCode::conflict;
         if (!there) return kept(std::unexpected(reply.error()));
         read(count, std::move(kept));
       }));
}

void Lane::claim(std::size_t count, Done<Entries> done) {
  const Options& options = context_->options;
  send({"XAUTOCLAIM", key_, options.group, options.consumer, milliseconds(kClaimIdle), claim_from_, "COUNT",
        std::to_string(count)},
       guard_.wrap([this, kept = std::move(done)](Result<redis::Reply> reply) mutable {
         if (!reply) return kept(std::unexpected(reply.error()));
         auto* items = std::get_if<std::vector<redis::Reply>>(&reply->value);
         if (items == nullptr || items->size() < 2) return kept(odd_reply(key_));
         claim_from_ = text_at(*reply, 0);
         kept(take_entries((*items)[1]));
       }));
}

std::vector<std::string> Lane::claim_words(std::span<const std::string> ids) const {
  const Options& options = context_->options;
  std::vector<std::string> words{"XCLAIM", key_, options.group, options.consumer, "0"};
  words.insert(words.end(), ids.begin(), ids.end());
  return words;
}

void Lane::reread(std::span<const std::string> ids, Done<Entries> done) {
  send(claim_words(ids), guard_.wrap([kept = std::move(done)](Result<redis::Reply> reply) mutable {
    if (!reply) return kept(std::unexpected(reply.error()));
    kept(take_entries(*reply));
  }));
}

void Lane::keep(std::span<const std::string> ids) {
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), kReadBatch));
    ids = ids.subspan(part.size());
    std::vector<std::string> words = claim_words(part);
    words.emplace_back("JUSTID");
    send(words, [](const Result<redis::Reply>&) {});
  }
}

void Lane::ack(const std::string& id, Done<void> done) {
  acks_.add({.arguments = {id}, .key = {}, .done = std::move(done)});
}

void Lane::forget_consumers() {
  const Options& options = context_->options;
  const std::string idle = milliseconds(kConsumerForgottenAfter);
  const std::string_view keys[] = {key_};
  const std::string_view arguments[] = {options.group, options.consumer, idle};
  context_->client.run(forget_script_, keys, arguments, options.call_timeout,
                       [](const Result<redis::Reply>&) {});
}

}  // namespace dripgate::broker::redis_streams
