#include "redis/encode.h"

#include <charconv>

namespace dripgate::redis {
namespace {

constexpr std::size_t kFramingBytes = 16;  // "$", a usual length, two line ends

void append_count(std::string& out, char sign, std::size_t count) {
  char text[24];
  text[0] = sign;
  char* end = std::to_chars(text + 1, text + sizeof text - 2, count).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text, end);
}

}  // namespace

void append_head(std::string& out, std::size_t count) {
  append_count(out, '*', count);
}

void append_word(std::string& out, std::string_view word) {
  append_count(out, '$', word.size());
  out.append(word);
  out.append("\r\n");
}

void append_command(std::string& out, Words words) {
  append_head(out, words.size());
  for (const std::string_view word : words) append_word(out, word);
}

std::string encode(Words words) {
  std::size_t bytes = kFramingBytes;
  for (const std::string_view word : words) bytes += word.size() + kFramingBytes;
  std::string out;
  out.reserve(bytes);
  append_command(out, words);
  return out;
}

}  // namespace dripgate::redis
