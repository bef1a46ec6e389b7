// JsonPayload: reads one event's bytes as JSON without changing them: is it a JSON document, and which text
// stands at a member or pointer. Used by event_facts (names of templates) and enrich (splice only what is
// JSON). The one place that knows simdjson. One object per thread: it keeps its buffers between events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dripgate::drip {

/// Deeper documents count as not JSON: walking them would cost stack.
inline constexpr int kJsonDepthMax = 128;

class JsonPayload {
 public:
  JsonPayload();
  ~JsonPayload();
  JsonPayload(const JsonPayload&) = delete;
  JsonPayload& operator=(const JsonPayload&) = delete;

  /// One whole, valid JSON document of any type, white space around it allowed.
  [[nodiscard]] bool is_document(std::string_view bytes);

  /// The text at a top-level member ("merchant_id") or JSON pointer ("/a/b/0"): strings unescaped, numbers
  /// and booleans as written. Empty: nothing there, null, "", an object or a list. Of equal member names the
  /// last one counts, as most readers take it. Only for bytes that are a document.
  [[nodiscard]] std::optional<std::string> text_at(std::string_view bytes, std::string_view name);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dripgate::drip
