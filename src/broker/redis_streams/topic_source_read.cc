// TopicSource: what it reads, and when.
#include <algorithm>
#include <utility>

#include "broker/attributes_codec.h"
#include "broker/redis_streams/topic_source.h"

namespace dripgate::broker::redis_streams {
namespace {

// The words of an entry (publish.lua): i ID a ATTRIBUTES b BODY.
constexpr std::size_t kEntryWords = 6;
/// Entries of others that one claim may take beyond flow control.
constexpr std::size_t kClaimLeast = 16;

}  // namespace

// Entries that may be read now, so that what waits here stays below the bounds of flow control as far as the
// size of messages can be guessed.
std::size_t TopicSource::read_room() const {
  const std::size_t taken = leases_.claimed() + waiting_.size() + asked_;
  if (leases_.lapsed() >= kLapsedMax || taken >= flow_.max_outstanding_messages) return 0;
  const std::size_t bytes = leases_.claimed_bytes() + waiting_bytes_ + asked_ * typical_bytes_;
  if (bytes >= flow_.max_outstanding_bytes) return taken == 0 ? 1 : 0;
  return std::min(flow_.max_outstanding_messages - taken,
                  (flow_.max_outstanding_bytes - bytes) / typical_bytes_ + 1);
}

void TopicSource::read(std::size_t index) {
  Reader& reader = readers_[index];
  if (reader.asked > 0 || !reader.fresh) return;
  const std::size_t count = std::min(read_room(), kReadBatch);
  if (count == 0) return;
  reader.asked = count;
  reader.fresh = false;
  asked_ += count;
  const bool history = reader.lane.in_history();
  reader.lane.read(count, guard_.wrap([this, index, history](Result<Lane::Entries> entries) {
    read_done(index, history, std::move(entries));
  }));
}

void TopicSource::read_done(std::size_t index, bool history, Result<Lane::Entries> entries) {
  Reader& reader = readers_[index];
  asked_ -= std::exchange(reader.asked, 0);
  if (!entries) return wait_and_read(index, kErrorWaitMax);
  const bool more = history || !entries->empty();
  take(index, std::move(*entries), history ? 1 : 0);
  if (!more && !reader.fresh) return wait_and_read(index, kPollMax);
  reader.fresh = true;
  if (more) reader.wait = Duration{0};
  post_look();
}

void TopicSource::wait_and_read(std::size_t index, Duration most) {
  Reader& reader = readers_[index];
  reader.wait = std::clamp(2 * reader.wait, kPollMin, most);
  context_->executor.post_after(reader.wait, guard_.wrap([this, index, number = ++reader.polls] {
    if (number != readers_[index].polls) return;
    readers_[index].fresh = true;
    post_look();
  }));
}

void TopicSource::take(std::size_t index, Lane::Entries entries, int before) {
  for (StreamEntry& entry : entries) {
    if (holdings_.holds(index, entry.id)) continue;
    if (entry.words.empty()) {  // pending, and deleted by hand: nothing is left to do
      readers_[index].lane.ack(entry.id, [](const Result<void>&) {});
      continue;
    }
    const std::uint64_t token = holdings_.take(index, entry.id, before);
    put_waiting(token, entry.id, std::move(entry.words));
  }
}

void TopicSource::put_waiting(std::uint64_t token, const std::string& entry_id,
                              std::vector<std::string> words) {
  const std::size_t lane = holdings_.find(token)->lane;
  Waiting next{token, message_of(lane, entry_id, std::move(words)), 0};
  next.bytes = bytes_of(next.message);
  waiting_bytes_ += next.bytes;
  typical_bytes_ = std::max<std::size_t>((3 * typical_bytes_ + next.bytes) / 4, 1);
  waiting_.push_back(std::move(next));
}

Message TopicSource::message_of(std::size_t lane, const std::string& entry_id,
                                std::vector<std::string> words) const {
  words.resize(std::max(words.size(), kEntryWords));
  Message message;
  message.id = std::move(words[1]);
  if (message.id.empty()) message.id = readers_[lane].lane.name() + "-" + entry_id;
  message.published = time_of(entry_id);
  if (auto attributes = decode_attributes(words[3])) {
    message.attributes = std::move(*attributes);
  } else {
    set(message.attributes, kDamagedAttribute, "true");
  }
  message.body = std::move(words[5]);
  return message;
}

// Lapsed entries whose delay is over come again with their token; those that are gone are forgotten.
void TopicSource::reread_ready() {
  std::vector<std::vector<std::string>> ids(readers_.size());
  std::vector<std::vector<std::uint64_t>> tokens(readers_.size());
  for (std::size_t room = std::min(read_room(), kReadBatch); room > 0 && leases_.has_ready(); --room) {
    const auto row = leases_.take_ready();
    if (!row) break;
    const auto token = static_cast<std::uint64_t>(*row);
    const Holdings::Held* held = holdings_.find(token);
    if (held == nullptr || held->expired) continue;
    ids[held->lane].push_back(held->id);
    tokens[held->lane].push_back(token);
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (ids[i].empty()) continue;
    asked_ += ids[i].size();
    readers_[i].lane.reread(
        ids[i], guard_.wrap([this, asked = ids[i], of = tokens[i]](Result<Lane::Entries> entries) {
          reread_done(asked, of, std::move(entries));
        }));
  }
}

void TopicSource::reread_done(const std::vector<std::string>& ids, const std::vector<std::uint64_t>& tokens,
                              Result<Lane::Entries> entries) {
  asked_ -= ids.size();
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const auto row = static_cast<std::int64_t>(tokens[n]);
    const Holdings::Held* held = holdings_.find(tokens[n]);
    if (held == nullptr || held->expired) continue;
    if (!entries) {
      context_->executor.post_after(kRedeliveryDelayMin, guard_.wrap([this, row] {
        leases_.ready(row);
        post_look();
      }));
      continue;
    }
    const auto found = std::ranges::find(*entries, ids[n], &StreamEntry::id);
    if (found == entries->end() || found->words.empty()) {
      drop(tokens[n]);
    } else {
      put_waiting(tokens[n], found->id, std::move(found->words));
    }
  }
  post_look();
}

// Some are taken whatever the room: behind a long backlog there never is any, and they have waited longest.
void TopicSource::claim(std::size_t index, int looks) {
  const std::size_t least = waiting_.size() < kReadBatch ? kClaimLeast : 0;
  const std::size_t count = std::min(std::max(read_room(), least), kReadBatch);
  if (count == 0) return;
  asked_ += count;
  readers_[index].lane.claim(count, guard_.wrap([this, index, looks, count](Result<Lane::Entries> entries) {
    asked_ -= count;
    post_look();
    if (!entries) return;
    const bool more = !entries->empty() || readers_[index].lane.has_more_to_claim();
    take(index, std::move(*entries), 1);
    if (more && looks > 1) claim(index, looks - 1);
  }));
}

}  // namespace dripgate::broker::redis_streams
