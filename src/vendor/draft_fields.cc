#include "vendor/draft_fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dripgate::vendor {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kItemsMax = 64;  // of one list
constexpr std::size_t kSecondsDigitsMax = 9;

bool key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '*';
}
bool token_char(char c) {
  return key_char(c) || (c >= 'A' && c <= 'Z') || std::string_view(":/!#$%&'+^`|~").contains(c);
}

struct Value {
  enum class Kind : std::uint8_t { integer, text, other };
  Kind kind = Kind::other;
  std::int64_t number = 0;
  std::string text;
};
struct Item {
  Value value;
  std::vector<std::pair<std::string, Value>> parameters;

  [[nodiscard]] const Value* parameter(std::string_view name) const {
    const Value* found = nullptr;  // the last one counts (RFC 9651)
    for (const auto& [key, given] : parameters)
      if (key == name) found = &given;
    return found;
  }
};

/// As much of RFC 9651 as these fields need: lists and dictionaries of integers, strings, tokens, byte
/// sequences and booleans, with parameters.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { blanks(); }

  std::optional<std::vector<Item>> list() {
    std::vector<Item> items;
    do {
      auto read = item();
      if (!read || items.size() == kItemsMax) return std::nullopt;
      items.push_back(*std::move(read));
    } while (comma());
    if (!good_ || !text_.empty()) return std::nullopt;
    return items;
  }

  std::optional<std::vector<std::pair<std::string, Item>>> dictionary() {
    std::vector<std::pair<std::string, Item>> members;
    do {
      auto name = key();
      if (!name || !take('=') || members.size() == kItemsMax) return std::nullopt;
      auto read = item();
      if (!read) return std::nullopt;
      members.emplace_back(*std::move(name), *std::move(read));
    } while (comma());
    if (!good_ || !text_.empty()) return std::nullopt;
    return members;
  }

 private:
  void blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) text_.remove_prefix(1);
  }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// A comma after which something must follow.
  bool comma() {
    blanks();
    if (!take(',')) return false;
    blanks();
    good_ = !text_.empty();
    return good_;
  }
  template <class Belongs>
  std::string run(Belongs belongs) {
    std::size_t length = 0;
    while (length < text_.size() && belongs(text_[length])) ++length;
    std::string taken(text_.substr(0, length));
    text_.remove_prefix(length);
    return taken;
  }
  std::optional<std::string> key() {
    if (text_.empty() || !((text_.front() >= 'a' && text_.front() <= 'z') || text_.front() == '*'))
      return std::nullopt;
    return run(key_char);
  }
  std::optional<Value> quoted() {
    Value value{.kind = Value::Kind::text, .text = {}};
    while (!text_.empty() && text_.front() != '"') {
      if (take('\\') && (text_.empty() || (text_.front() != '"' && text_.front() != '\\')))
        return std::nullopt;
      if (text_.front() < ' ' || text_.front() > '~') return std::nullopt;
      value.text += text_.front();
      text_.remove_prefix(1);
    }
    if (!take('"')) return std::nullopt;
    return value;
  }
  std::optional<Value> value() {
    if (take('"')) return quoted();
    if (take(':')) {
      (void)run([](char c) { return token_char(c) ? c != ':' : c == '='; });
      return take(':') ? std::optional(Value{}) : std::nullopt;
    }
    if (take('?')) return take('0') || take('1') ? std::optional(Value{}) : std::nullopt;
    if (text_.empty()) return std::nullopt;
    const char first = text_.front();
    if (first != '-' && (first < '0' || first > '9')) {
      const bool token = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '*';
      if (!token) return std::nullopt;
      return Value{.kind = Value::Kind::text, .text = run(token_char)};
    }
    Value number{.kind = Value::Kind::integer, .text = {}};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number.number);
    if (error != std::errc{}) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    if (take('.'))
      number.kind = run([](char c) { return c >= '0' && c <= '9'; }).empty() ? Value::Kind::integer
                                                                             : Value::Kind::other;
    return number;
  }
  std::optional<Item> item() {
    auto read = value();
    if (!read) return std::nullopt;
    Item made{.value = *std::move(read), .parameters = {}};
    for (;;) {
      const std::string_view before = text_;
      blanks();
      if (!take(';')) {
        text_ = before;
        return made;
      }
      blanks();
      auto name = key();
      if (!name || made.parameters.size() == kItemsMax) return std::nullopt;
      Value given;
      if (take('=')) {
        auto stated = value();
        if (!stated) return std::nullopt;
        given = *std::move(stated);
      }
      made.parameters.emplace_back(*std::move(name), std::move(given));
    }
  }

  std::string_view text_;
  bool good_ = true;
};

/// True: absent, or an integer of at least `min` that was put into `to`.
bool count(const Value* value, std::int64_t min, std::optional<std::int64_t>& to) {
  if (value == nullptr) return true;
  if (value->kind != Value::Kind::integer || value->number < min) return false;
  to = value->number;
  return true;
}
bool span(const Value* value, std::int64_t min, std::optional<Duration>& to) {
  std::optional<std::int64_t> seconds;
  if (!count(value, min, seconds)) return false;
  if (!seconds) return true;
  if (std::to_string(*seconds).size() > kSecondsDigitsMax) return false;
  to = std::chrono::seconds{*seconds};
  return true;
}

std::optional<std::vector<DraftLimit>> read_older(std::string_view field) {
  const auto members = Reader(field).dictionary();
  if (!members) return std::nullopt;
  DraftLimit limit;
  for (const auto& [name, item] : *members) {
    const bool good = name == "limit"       ? count(&item.value, 0, limit.quota)
                      : name == "remaining" ? count(&item.value, 0, limit.remaining)
                      : name == "reset"     ? span(&item.value, 0, limit.reset)
                                            : true;
    if (!good) return std::nullopt;
  }
  if (!limit.remaining) return std::nullopt;
  return std::vector{limit};
}

}  // namespace

std::optional<std::vector<DraftLimit>> read_ratelimit(std::string_view field) {
  const auto items = Reader(field).list();
  if (!items) return read_older(field);
  std::vector<DraftLimit> limits;
  for (const Item& item : *items) {
    DraftLimit limit{.name = item.value.text, .quota = {}, .remaining = {}, .reset = {}, .window = {}};
    const bool good = item.value.kind == Value::Kind::text &&
                      count(item.parameter("r"), 0, limit.remaining) &&
                      span(item.parameter("t"), 0, limit.reset) && limit.remaining;
    if (!good) return std::nullopt;
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::optional<std::vector<DraftLimit>> read_ratelimit_policy(std::string_view field) {
  const auto items = Reader(field).list();
  if (!items) return std::nullopt;
  std::vector<DraftLimit> limits;
  for (const Item& item : *items) {
    DraftLimit limit{.name = item.value.text, .quota = {}, .remaining = {}, .reset = {}, .window = {}};
    if (!span(item.parameter("w"), 1, limit.window)) return std::nullopt;
    const bool named = item.value.kind == Value::Kind::text;
    const bool good = named ? count(item.parameter("q"), 0, limit.quota) && limit.quota.has_value()
                            : count(&item.value, 0, limit.quota);
    if (!good) return std::nullopt;
    const Value* unit = item.parameter("qu");
    if (unit != nullptr && unit->text != "request" && unit->text != "requests") limit.unit = unit->text;
    limits.push_back(std::move(limit));
  }
  return limits;
}

std::optional<DraftLimit> read_ratelimit_limit(std::string_view field) {
  const auto limits = read_ratelimit_policy(field);
  if (!limits || !limits->front().name.empty()) return std::nullopt;
  DraftLimit first = limits->front();
  for (const DraftLimit& other : *limits)
    if (!first.window && other.quota == first.quota) first.window = other.window;
  return first;
}

}  // namespace dripgate::vendor
