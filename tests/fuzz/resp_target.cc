// What a Redis, a Sentinel or a node of a cluster may answer, in any bytes: the reader takes the same replies
// however they are cut, and everything that interprets one either understands it or says that it does not.
#include <algorithm>
#include <string>
#include <vector>

#include "broker/redis_streams/replies.h"
#include "fuzz/require.h"
#include "redis/failure.h"
#include "redis/greeting.h"
#include "redis/reply_reader.h"
#include "redis/sentinel_answer.h"
#include "redis/slot_map.h"
#include "store/redis/booking_wire.h"
#include "store/redis/counter_reply.h"
#include "store/redis/counter_text.h"

namespace dripgate::fuzz {
namespace {

constexpr std::size_t kRepliesMax = 64;
const std::string kNode = "127.0.0.1:6379";

struct Heard {
  std::vector<redis::Parsed> replies;
  bool broken = false;
};

Heard hear(std::string_view bytes, std::size_t cut) {
  redis::ReplyReader reader;
  Heard heard;
  for (const std::string_view part : {bytes.substr(0, cut), bytes.substr(cut)}) {
    if (part.empty() || heard.broken) continue;
    reader.feed(part);
    for (redis::Parsed reply; heard.replies.size() < kRepliesMax;) {
      const auto more = reader.next(reply);
      heard.broken = !more;
      if (!more || !*more) break;
      heard.replies.push_back(std::move(reply));
    }
  }
  return heard;
}

void require_texts(const Result<store::CounterReply>& read) {
  if (!read) return require(read.error().code == ErrorCode::corrupt, "a strange reply is corrupt");
  for (const std::string& text : read->texts) (void)store::read_counter_text(text);
}

void bookings(std::string_view text) {
  for (std::size_t items = 0; items < 4; ++items) {
    const auto batch = store::wire::read_batch(text, items);
    if (batch) require(batch->items.size() == items, "as many answers as items");
  }
  (void)store::wire::read_key(text);
}

void slots(const redis::Reply& reply) {
  auto map = redis::SlotMap::parse(reply, "asked.example");
  if (!map) return;
  const auto require_whole = [](const redis::SlotMap& of) {
    std::vector<bool> taken(of.primaries().size(), false);
    for (std::uint16_t slot = 0; slot < redis::kSlotCount; slot = static_cast<std::uint16_t>(slot + 97)) {
      const auto owner = of.owner(slot);
      require(!owner || *owner < of.primaries().size(), "an owner is a primary");
    }
    return taken.size();
  };
  require(require_whole(*map) > 0, "a map has primaries");
  redis::SlotMap next = *map;
  next.assign(7, {.host = "new.example", .port = 7000});
  next.keep_numbers(*map);
  require_whole(next);
}

void interpret(const redis::Reply& reply) {
  slots(reply);
  (void)redis::master_address(reply);
  require_texts(store::read_counter_reply(reply));
  require_texts(store::read_buckets_reply(reply));
  require_texts(store::read_bucket_reply(reply));
  if (const std::string* text = reply.text()) {
    (void)redis::switched_to(*text, "main");
    (void)store::read_counter_text(*text);
    bookings(*text);
    (void)broker::redis_streams::time_of(*text);
  }
  redis::Reply list = reply;
  (void)broker::redis_streams::take_entries(list);
  list = reply;
  (void)broker::redis_streams::take_read(list);
  (void)broker::redis_streams::time_at(reply, 0);
  (void)broker::redis_streams::text_at(reply, 1);
}

void run(std::string_view bytes) {
  const Heard whole = hear(bytes, bytes.size());
  const Heard cut = hear(bytes, bytes.size() / 2);
  require(whole.broken == cut.broken && whole.replies.size() == cut.replies.size(), "a cut changes no reply");
  for (const redis::Parsed& reply : whole.replies) {
    if (reply)
      interpret(*reply);
    else
      require(!redis::classify(reply.error(), kNode).error.detail.empty(), "an error reply says something");
  }
  redis::Greeting greeting({.user = "u", .password = "p", .name = "n", .database = 1, .primary_only = true});
  (void)greeting.received(bytes, kNode);
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
