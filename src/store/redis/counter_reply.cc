#include "store/redis/counter_reply.h"

#include <charconv>
#include <utility>

namespace dripgate::store {
namespace {

using redis::Reply;

std::unexpected<Error> unexpected_reply() {
  return fail(ErrorCode::corrupt, "a counter script answered in a form that it never has");
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<WallTime> time_of(std::string_view seconds, std::string_view us) {
  const auto whole = number_of(seconds);
  const auto rest = number_of(us);
  if (!whole || !rest) return std::nullopt;
  return from_us(*whole * 1'000'000 + *rest);
}

/// Seconds, us and texts from `first` on.
Result<CounterReply> read_items(std::vector<Reply>& items, std::size_t first) {
  if (items.size() < first + 2) return unexpected_reply();
  const std::string* seconds = items[first].text();
  const std::string* us = items[first + 1].text();
  const auto time = seconds && us ? time_of(*seconds, *us) : std::nullopt;
  if (!time) return unexpected_reply();
  CounterReply read{.taken = std::nullopt, .time = *time, .texts = {}};
  read.texts.reserve(items.size() - first - 2);
  for (std::size_t i = first + 2; i < items.size(); ++i) {
    auto* text = std::get_if<std::string>(&items[i].value);
    if (text == nullptr) return unexpected_reply();
    read.texts.push_back(std::move(*text));
  }
  return read;
}

}  // namespace

Result<CounterReply> read_counter_reply(Reply reply) {
  auto* items = std::get_if<std::vector<Reply>>(&reply.value);
  if (items == nullptr || items->size() < 2) return unexpected_reply();
  const std::int64_t* trouble = (*items)[0].integer();
  const std::int64_t* taken = (*items)[1].integer();
  if (trouble == nullptr || taken == nullptr) return unexpected_reply();
  auto read = read_items(*items, 2);
  if (!read) return read;
  read->trouble = Trouble{*trouble};
  read->taken = *taken;
  return read;
}

Result<CounterReply> read_buckets_reply(Reply reply) {
  auto* items = std::get_if<std::vector<Reply>>(&reply.value);
  if (items == nullptr) return unexpected_reply();
  return read_items(*items, 0);
}

Result<CounterReply> read_bucket_reply(const Reply& reply) {
  const std::string* all = reply.text();
  const std::size_t first = all == nullptr ? std::string::npos : all->find(' ');
  const std::size_t second = first == std::string::npos ? first : all->find(' ', first + 1);
  if (second == std::string::npos) return unexpected_reply();
  const std::string_view words(*all);
  const auto time = time_of(words.substr(0, first), words.substr(first + 1, second - first - 1));
  if (!time) return unexpected_reply();
  return CounterReply{
      .taken = std::nullopt, .time = *time, .texts = {std::string(words.substr(second + 1))}};
}

}  // namespace dripgate::store
