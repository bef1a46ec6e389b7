#include "broker/redis_streams/letter_fields.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "base/sha256.h"
#include "broker/attributes_codec.h"

namespace dripgate::broker::redis_streams {
namespace {

constexpr std::size_t kNameBytes = 16;
// Words of an entry: name NAME dead AT, then eleven fields with their values.
constexpr std::size_t kWords = 26;
constexpr std::string_view kIdStart = "0-";

std::string name_of(const DeadLetter& letter) {
  std::string text = std::to_string(letter.event_id.size()) + ' ' + std::to_string(letter.generation) + ' ';
  const Sha256 digest = sha256(text.append(letter.event_id).append(letter.message.body));
  return {reinterpret_cast<const char*>(digest.data()), kNameBytes};
}

}  // namespace

std::vector<std::string> letter_words(DeadLetter letter) {
  std::string name = name_of(letter);
  Message& message = letter.message;
  std::string attributes;
  encode_attributes(message.attributes, attributes);
  return {std::move(name),
          std::to_string(to_us(letter.dead_at)),
          "e",
          std::move(letter.event_id),
          "g",
          std::to_string(letter.generation),
          "k",
          std::move(letter.key),
          "r",
          std::move(letter.reason),
          "d",
          std::move(letter.detail),
          "f",
          std::to_string(to_us(letter.first_received)),
          "t",
          std::to_string(letter.attempts),
          "i",
          std::move(message.id),
          "p",
          std::to_string(to_us(message.published)),
          "a",
          std::move(attributes),
          "b",
          std::move(message.body)};
}

std::optional<DeadLetter> letter_of(StreamEntry entry) {
  std::vector<std::string>& words = entry.words;
  if (words.size() != kWords || !entry.id.starts_with(kIdStart)) return std::nullopt;
  DeadLetter letter;
  const char* end = entry.id.data() + entry.id.size();
  std::from_chars(entry.id.data() + kIdStart.size(), end, letter.sequence);
  letter.dead_at = from_us(to_integer(words[3]));
  letter.event_id = std::move(words[5]);
  letter.generation = static_cast<std::uint32_t>(to_integer(words[7]));
  letter.key = std::move(words[9]);
  letter.reason = std::move(words[11]);
  letter.detail = std::move(words[13]);
  letter.first_received = from_us(to_integer(words[15]));
  letter.attempts = static_cast<int>(to_integer(words[17]));
  letter.message.id = std::move(words[19]);
  letter.message.published = from_us(to_integer(words[21]));
  if (auto attributes = decode_attributes(words[23])) {
    letter.message.attributes = std::move(*attributes);
  } else {
    set(letter.message.attributes, kDamagedAttribute, "true");
  }
  letter.message.body = std::move(words[25]);
  return letter;
}

}  // namespace dripgate::broker::redis_streams
