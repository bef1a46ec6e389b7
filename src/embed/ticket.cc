// v1::Ticket as text: numbers and escaped texts between blanks, so that a line, a header or a column holds
// it.
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "dripgate/scheduler.h"

namespace dripgate::v1 {
namespace {

constexpr std::string_view kForm = "t1";
constexpr std::size_t kWords = 9;

Error unreadable() {
  return {ErrorCode::invalid_argument, false, "this is no ticket; accepted: what Ticket::to_text wrote"};
}

std::string escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      out += c;
      continue;
    }
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* first = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(first, first + 2, byte, 16).ptr != first + 2)
      return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

template <class T>
bool read(std::string_view word, T& number) {
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
  return code == std::errc{} && end == word.data() + word.size() && !word.empty();
}

std::optional<std::array<std::string_view, kWords>> words_of(std::string_view text) {
  std::array<std::string_view, kWords> words;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::size_t end = text.find(' ');
    if ((end == std::string_view::npos) != (i + 1 == kWords)) return std::nullopt;
    words[i] = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

}  // namespace

std::string Ticket::to_text() const {
  std::string out(kForm);
  const auto add = [&](auto number) { out += ' ' + std::to_string(number); };
  add(generation);
  add(slot.time_since_epoch().count());
  add(cost);
  add(body_digest);
  add(first_received.time_since_epoch().count());
  add(horizon.count());
  return out + ' ' + escaped(event_id) + ' ' + escaped(key);
}

Result<Ticket> Ticket::from_text(std::string_view text) {
  const auto words = words_of(text);
  if (!words || (*words)[0] != kForm) return unreadable();
  Ticket ticket;
  std::int64_t slot = 0;
  std::int64_t first = 0;
  std::int64_t horizon = 0;
  const bool numbers = read((*words)[1], ticket.generation) && read((*words)[2], slot) &&
                       read((*words)[3], ticket.cost) && read((*words)[4], ticket.body_digest) &&
                       read((*words)[5], first) && read((*words)[6], horizon);
  auto event_id = unescaped((*words)[7]);
  auto key = unescaped((*words)[8]);
  if (!numbers || !event_id || !key || event_id->empty() || key->empty()) return unreadable();
  ticket.slot = TimePoint(Span(slot));
  ticket.first_received = TimePoint(Span(first));
  ticket.horizon = Span(horizon);
  ticket.event_id = *std::move(event_id);
  ticket.key = *std::move(key);
  return ticket;
}

}  // namespace dripgate::v1
