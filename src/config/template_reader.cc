// Template reader: see template_reader.h.
#include "config/template_reader.h"

#include <charconv>
#include <string>

#include "config/scalars.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kTemplateBytesMax = 512;

// core says "column 9: '{' is never closed": the 1-based column, then the sentence.
struct InsideProblem {
  std::size_t offset = 0;
  std::string_view sentence;
};

InsideProblem split_detail(std::string_view detail) {
  constexpr std::string_view kLead = "column ";
  if (!detail.starts_with(kLead)) return {0, detail};
  const char* const first = detail.data() + kLead.size();
  const char* const last = detail.data() + detail.size();
  std::size_t column = 0;
  const auto [end, code] = std::from_chars(first, last, column);
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  if (code != std::errc{} || column == 0 || !rest.starts_with(": ")) return {0, detail};
  return {column - 1, rest.substr(2)};
}

}  // namespace

std::optional<core::KeyTemplate> read_template(const Node& node, std::string_view what, Context& context) {
  const auto text = read_text(node, what, kTemplateBytesMax, context.report);
  if (!text) return std::nullopt;
  auto parsed = core::KeyTemplate::parse(*text);
  if (parsed) return *std::move(parsed);
  const InsideProblem problem = split_detail(parsed.error().detail);
  context.report.error(inside(node, problem.offset, context.report.text()),
                       std::string(what) + ": " + std::string(problem.sentence) +
                           "; accepted: text with {name} or {/json/pointer}");
  return std::nullopt;
}

}  // namespace dripgate::config
