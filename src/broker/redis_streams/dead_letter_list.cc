#include "broker/redis_streams/dead_letter_list.h"

#include <algorithm>
#include <utility>

#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/letter_fields.h"
#include "broker/redis_streams/lua/texts.h"

namespace dripgate::broker::redis_streams {

DeadLetterList::DeadLetterList(ContextPtr context, const std::string& topic)
    : context_(std::move(context)),
      keys_{letters_key(context_->options.prefix, partition_tag(topic, 0)),
            letter_ages_key(context_->options.prefix, partition_tag(topic, 0)),
            letter_names_key(context_->options.prefix, partition_tag(topic, 0))},
      adds_(context_, lua::letter_add, {keys_.letters, keys_.ages, keys_.names}),
      list_script_(lua::letter_list),
      remove_script_(lua::letter_remove),
      purge_script_(lua::letter_purge) {}

void DeadLetterList::add(DeadLetter letter, Done<void> done) {
  adds_.add({.arguments = letter_words(std::move(letter)), .key = {}, .done = std::move(done)});
}

void DeadLetterList::list(std::uint64_t after, std::size_t count, Done<DeadLetterPage> done) {
  const std::string from = std::to_string(after);
  const std::string most = std::to_string(std::min(count, kDeadLetterPageMax));
  const std::string bytes = std::to_string(kDeadLetterPageBytesMax);
  const std::string_view keys[] = {keys_.letters};
  const std::string_view arguments[] = {from, most, bytes};
  context_->client.run(list_script_, keys, arguments, context_->options.call_timeout,
                       guard_.wrap([this, kept = std::move(done)](Result<redis::Reply> reply) mutable {
                         if (!reply) return kept(std::unexpected(reply.error()));
                         const auto* items = reply->items();
                         const std::int64_t* total =
                             items == nullptr || items->empty() ? nullptr : items->front().integer();
                         if (total == nullptr) return kept(odd_reply(keys_.letters));
                         DeadLetterPage page{.letters = {}, .total = static_cast<std::uint64_t>(*total)};
                         for (StreamEntry& entry : take_entries(*reply)) {
                           if (auto letter = letter_of(std::move(entry)))
                             page.letters.push_back(std::move(*letter));
                         }
                         kept(std::move(page));
                       }));
}

void DeadLetterList::find(std::uint64_t sequence, Done<std::optional<DeadLetter>> done) {
  const std::string id = "0-" + std::to_string(sequence);
  const std::string_view words[] = {"XRANGE", keys_.letters, id, id};
  context_->client.command(keys_.letters, words, context_->options.call_timeout,
                           guard_.wrap([kept = std::move(done)](Result<redis::Reply> reply) mutable {
                             if (!reply) return kept(std::unexpected(reply.error()));
                             std::vector<StreamEntry> entries = take_entries(*reply);
                             kept(entries.empty() ? std::nullopt : letter_of(std::move(entries.front())));
                           }));
}

void DeadLetterList::remove(std::uint64_t sequence, Done<bool> done) {
  const std::string text = std::to_string(sequence);
  const std::string_view arguments[] = {text};
  count_gone(remove_script_, arguments, [kept = std::move(done)](Result<std::uint64_t> gone) mutable {
    if (!gone) return kept(std::unexpected(gone.error()));
    kept(*gone > 0);
  });
}

void DeadLetterList::purge(WallTime before, Done<std::uint64_t> done) {
  const std::string age = std::to_string(to_us(before));
  const std::string most = std::to_string(kPurgeBatch);
  const std::string_view arguments[] = {age, most};
  count_gone(purge_script_, arguments, std::move(done));
}

void DeadLetterList::count_gone(const redis::Script& script, redis::Words arguments,
                                Done<std::uint64_t> done) {
  const std::string_view keys[] = {keys_.letters, keys_.ages, keys_.names};
  context_->client.run(script, keys, arguments, context_->options.call_timeout,
                       guard_.wrap([this, kept = std::move(done)](Result<redis::Reply> reply) mutable {
                         if (!reply) return kept(std::unexpected(reply.error()));
                         const std::int64_t* gone = reply->integer();
                         if (gone == nullptr) return kept(odd_reply(keys_.letters));
                         kept(static_cast<std::uint64_t>(*gone));
                       }));
}

}  // namespace dripgate::broker::redis_streams
