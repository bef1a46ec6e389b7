#include "store/redis/counter_reply.h"

#include <charconv>
#include <utility>

#include "base/limits.h"

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
  constexpr std::int64_t kUsPerSecond = 1'000'000;
  const auto whole = number_of(seconds);
  const auto rest = number_of(us);
  if (!whole || *whole < 0 || *whole > kExactIntegerMax / kUsPerSecond) return std::nullopt;
  if (!rest || *rest < 0 || *rest >= kUsPerSecond) return std::nullopt;
  return from_us(*whole * kUsPerSecond + *rest);
}

/// The words of a reply's text; a blank at its end means an empty word after it.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t blank = text.find(' '); blank != std::string_view::npos; blank = text.find(' ')) {
    words.push_back(text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  words.push_back(text);
  return words;
}

}  // namespace

Result<CounterReply> read_counter_reply(Reply reply) {
  auto* items = std::get_if<std::vector<Reply>>(&reply.value);
  const std::string* head = items == nullptr || items->empty() ? nullptr : items->front().text();
  if (head == nullptr) return unexpected_reply();
  const auto words = words_of(*head);
  if (words.size() != 4) return unexpected_reply();
  const auto trouble = number_of(words[0]);
  const auto taken = number_of(words[1]);
  const auto time = time_of(words[2], words[3]);
  if (!trouble || !taken || !time) return unexpected_reply();
  CounterReply read{.trouble = Trouble{*trouble}, .taken = taken, .time = *time, .texts = {}};
  read.texts.reserve(items->size() - 1);
  for (std::size_t i = 1; i < items->size(); ++i) {
    auto* text = std::get_if<std::string>(&(*items)[i].value);
    if (text == nullptr) return unexpected_reply();
    read.texts.push_back(std::move(*text));
  }
  return read;
}

Result<CounterReply> read_bucket_reply(const Reply& reply) {
  const std::string* all = reply.text();
  if (all == nullptr) return unexpected_reply();
  const std::size_t first = all->find(' ');
  const std::size_t second = first == std::string::npos ? first : all->find(' ', first + 1);
  if (second == std::string::npos) return unexpected_reply();
  const std::string_view text(*all);
  const auto time = time_of(text.substr(0, first), text.substr(first + 1, second - first - 1));
  if (!time) return unexpected_reply();
  return CounterReply{.taken = std::nullopt, .time = *time, .texts = {std::string(text.substr(second + 1))}};
}

Result<CounterReply> read_buckets_reply(const Reply& reply) {
  const std::string* all = reply.text();
  if (all == nullptr) return unexpected_reply();
  const auto words = words_of(*all);
  const auto time = words.size() < 2 ? std::nullopt : time_of(words[0], words[1]);
  if (!time) return unexpected_reply();
  CounterReply read{.taken = std::nullopt, .time = *time, .texts = {}};
  for (std::size_t i = 2; i < words.size(); ++i) read.texts.emplace_back(words[i]);
  return read;
}

}  // namespace dripgate::store
