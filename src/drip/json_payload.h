// JsonPayload: reads one event's bytes as JSON without changing them: is it a JSON document, and which text
// stands at a member or pointer. Used by event_facts (names of templates) and enrich (splice only what is
// JSON). The one place that knows simdjson. One object per thread: it keeps its buffers between events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dripgate::drip {

/// Lists and objects within each other. Deeper documents travel as what is not JSON does: walking them would
/// cost stack.
inline constexpr int kJsonDepthMax = 128;

enum class JsonCheck : std::uint8_t { document, too_deep, not_json };

class JsonPayload {
 public:
  JsonPayload();
  ~JsonPayload();
  JsonPayload(const JsonPayload&) = delete;
  JsonPayload& operator=(const JsonPayload&) = delete;

  /// document: one whole, valid JSON document of any type, white space around it allowed.
  [[nodiscard]] JsonCheck check(std::string_view bytes);
  [[nodiscard]] bool is_document(std::string_view bytes) { return check(bytes) == JsonCheck::document; }

  /// The text at a top-level member ("merchant_id") or JSON pointer ("/a/b/0"): strings unescaped, numbers
  /// and booleans as written. Empty: nothing there, null, "", an object or a list. Of equal member names the
  /// last one counts, as most readers take it. Only for bytes that are a document.
  [[nodiscard]] std::optional<std::string> text_at(std::string_view bytes, std::string_view name);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dripgate::drip
