#include "drip/json_payload.h"

#include <span>
#include <vector>

#include <simdjson.h>

namespace dripgate::drip {
namespace {

namespace od = simdjson::ondemand;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The number grammar of RFC 8259 on one token, whatever its size: amounts may be longer than any machine
/// number.
bool is_number(std::string_view token) {
  std::size_t at = 0;
  const auto some_digits = [&] {
    const std::size_t from = at;
    while (at < token.size() && is_digit(token[at])) ++at;
    return at > from;
  };
  if (at < token.size() && token[at] == '-') ++at;
  const bool zero = at < token.size() && token[at] == '0';
  const std::size_t integer_from = at;
  if (!some_digits() || (zero && at - integer_from > 1)) return false;
  if (at < token.size() && token[at] == '.' && (++at, !some_digits())) return false;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    ++at;
    if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
    if (!some_digits()) return false;
  }
  return at == token.size();
}

std::string_view trimmed(std::string_view token) {
  const auto end = token.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? std::string_view{} : token.substr(0, end + 1);
}

JsonCheck walk(od::value value, int depth);

JsonCheck walk_list(od::value value, int depth) {
  od::array list;
  if (value.get_array().get(list)) return JsonCheck::not_json;
  for (auto item : list) {
    od::value element;
    if (item.get(element)) return JsonCheck::not_json;
    if (const JsonCheck found = walk(element, depth + 1); found != JsonCheck::document) return found;
  }
  return JsonCheck::document;
}

JsonCheck walk_object(od::value value, int depth) {
  od::object object;
  if (value.get_object().get(object)) return JsonCheck::not_json;
  for (auto item : object) {
    od::field field;
    std::string_view name;
    if (std::move(item).get(field) || field.unescaped_key().get(name)) return JsonCheck::not_json;
    if (const JsonCheck found = walk(field.value(), depth + 1); found != JsonCheck::document) return found;
  }
  return JsonCheck::document;
}

/// A token that is no string, object or list is taken as it stands: iteration steps over it.
bool is_literal(std::string_view token) {
  return token == "true" || token == "false" || token == "null" || is_number(token);
}

/// Visits everything: on-demand parsing checks only what is visited.
JsonCheck walk(od::value value, int depth) {
  if (depth > kJsonDepthMax) return JsonCheck::too_deep;
  od::json_type type{};
  if (value.type().get(type)) return JsonCheck::not_json;
  if (type == od::json_type::object) return walk_object(value, depth);
  if (type == od::json_type::array) return walk_list(value, depth);
  std::string_view text;
  const bool valid = type == od::json_type::string ? !value.get_string().get(text)
                                                   : is_literal(trimmed(value.raw_json_token()));
  return valid ? JsonCheck::document : JsonCheck::not_json;
}

using Text = std::optional<std::string>;
using Steps = std::span<const std::string>;
Text find(od::value value, Steps steps);

Text find_member(od::value value, Steps steps) {
  Text found;
  od::object object;
  if (value.get_object().get(object)) return {};
  for (auto item : object) {
    od::field field;
    std::string_view name;
    if (std::move(item).get(field) || field.unescaped_key().get(name)) return {};
    if (name == steps.front()) found = find(field.value(), steps.subspan(1));
  }
  return found;
}

Text find_element(od::value value, Steps steps) {
  od::array list;
  if (value.get_array().get(list)) return {};
  std::size_t index = 0;
  for (auto item : list) {
    od::value element;
    if (item.get(element)) return {};
    if (std::to_string(index++) == steps.front()) return find(element, steps.subspan(1));
  }
  return {};
}

Text find(od::value value, Steps steps) {
  od::json_type type{};
  if (value.type().get(type)) return {};
  if (!steps.empty()) {
    if (type == od::json_type::object) return find_member(value, steps);
    return type == od::json_type::array ? find_element(value, steps) : Text{};
  }
  std::string_view text;
  if (type == od::json_type::string) {
    if (value.get_string().get(text)) return {};
  } else if (type == od::json_type::number || type == od::json_type::boolean) {
    text = trimmed(value.raw_json_token());
  }
  return text.empty() ? Text{} : Text{std::string(text)};
}

/// "merchant_id" is one step; "/a~1b/0" two, with the escapes of RFC 6901 undone.
std::vector<std::string> steps_of(std::string_view name) {
  if (!name.starts_with('/')) return {std::string(name)};
  std::vector<std::string> steps;
  for (const char c : name) {
    if (c == '/') {
      steps.emplace_back();
    } else if (steps.back().ends_with('~') && (c == '0' || c == '1')) {
      steps.back().back() = c == '0' ? '\0' : '/';  // '\0' holds the place of a literal '~'
    } else {
      steps.back() += c;
    }
  }
  for (std::string& step : steps) {
    for (char& c : step) c = c == '\0' ? '~' : c;
  }
  return steps;
}

}  // namespace

struct JsonPayload::Parser {
  od::parser parser;
  std::string buffer;
  od::document document;

  /// The bytes between brackets: then a bare number or text is read like any other value, and whatever stands
  /// after the first document shows as a second element or as a rest.
  bool open(std::string_view bytes, od::array& list) {
    buffer.reserve(bytes.size() + 2 + simdjson::SIMDJSON_PADDING);
    buffer.assign(1, '[').append(bytes).append(1, ']');
    if (parser.iterate(simdjson::padded_string_view(buffer.data(), buffer.size(), buffer.capacity()))
            .get(document)) {
      return false;
    }
    return !document.get_array().get(list);
  }
};

JsonPayload::JsonPayload() : parser_(std::make_unique<Parser>()) {}
JsonPayload::~JsonPayload() = default;

JsonCheck JsonPayload::check(std::string_view bytes) {
  od::array list;
  if (!parser_->open(bytes, list)) return JsonCheck::not_json;
  int documents = 0;
  for (auto item : list) {
    od::value value;
    if (item.get(value) || ++documents > 1) return JsonCheck::not_json;
    if (const JsonCheck found = walk(value, 0); found != JsonCheck::document) return found;
  }
  const bool at_end = parser_->document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  return documents == 1 && at_end ? JsonCheck::document : JsonCheck::not_json;
}

std::optional<std::string> JsonPayload::text_at(std::string_view bytes, std::string_view name) {
  od::array list;
  if (!parser_->open(bytes, list)) return {};
  const std::vector<std::string> steps = steps_of(name);
  for (auto item : list) {
    od::value value;
    if (item.get(value)) return {};
    return find(value, steps);
  }
  return {};
}

}  // namespace dripgate::drip
