#include "broker/redis_streams/replies.h"

#include <charconv>
#include <utility>

#include "base/limits.h"

namespace dripgate::broker::redis_streams {
namespace {

constexpr std::int64_t kMicros = 1'000'000;
constexpr std::int64_t kMicrosPerMilli = 1'000;

/// Times that a Redis may have; any other is 0, as what is no number.
std::int64_t within(std::int64_t value, std::int64_t max) {
  return value >= 0 && value <= max ? value : 0;
}

std::vector<redis::Reply>* items_of(redis::Reply& reply) {
  return std::get_if<std::vector<redis::Reply>>(&reply.value);
}

}  // namespace

std::vector<StreamEntry> take_entries(redis::Reply& list) {
  std::vector<StreamEntry> entries;
  auto* items = items_of(list);
  if (items == nullptr) return entries;
  entries.reserve(items->size());
  for (redis::Reply& item : *items) {
    auto* pair = items_of(item);
    if (pair == nullptr || pair->size() != 2) continue;
    auto* id = std::get_if<std::string>(&(*pair)[0].value);
    if (id == nullptr) continue;
    StreamEntry entry{std::move(*id), {}};
    if (auto* words = items_of((*pair)[1])) {
      for (redis::Reply& word : *words) {
        auto* text = std::get_if<std::string>(&word.value);
        entry.words.push_back(text != nullptr ? std::move(*text) : std::string());
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<StreamEntry> take_read(redis::Reply& reply) {
  auto* streams = items_of(reply);
  if (streams == nullptr || streams->empty()) return {};
  auto* stream = items_of(streams->front());
  if (stream == nullptr || stream->size() != 2) return {};
  return take_entries((*stream)[1]);
}

std::int64_t to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

WallTime time_of(std::string_view entry_id) {
  const std::int64_t ms =
      within(to_integer(entry_id.substr(0, entry_id.find('-'))), kExactIntegerMax / kMicrosPerMilli);
  return WallTime{std::chrono::milliseconds{ms}};
}

std::string_view text_at(const redis::Reply& reply, std::size_t index) {
  const auto* items = reply.items();
  if (items == nullptr || index >= items->size()) return {};
  const std::string* text = (*items)[index].text();
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::int64_t time_at(const redis::Reply& reply, std::size_t index) {
  return within(to_integer(text_at(reply, index)), kExactIntegerMax / kMicros) * kMicros +
         within(to_integer(text_at(reply, index + 1)), kMicros - 1);
}

std::unexpected<Error> odd_reply(std::string_view key) {
  return fail(ErrorCode::corrupt, std::string(key) + ": a reply of an unknown form");
}

}  // namespace dripgate::broker::redis_streams
