// YAML tree: see yaml_tree.h.
#include "config/yaml_tree.h"

#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "config/text_rules.h"

namespace dripgate::config {
namespace {

// Thrown through yaml-cpp, which offers no other way to stop it, and caught in read_tree.
struct Refused {
  Mark at;
  std::string message;
};

Mark to_mark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1, static_cast<std::size_t>(mark.pos)};
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Report& report) : report_(report) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "?", anchor);
    add({.kind = Node::Kind::null, .plain = true, .at = to_mark(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    report_.error(to_mark(mark), "aliases are not accepted: write the value out");
    add({.kind = Node::Kind::null, .plain = true, .at = to_mark(mark)});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    add({.kind = Node::Kind::scalar, .plain = tag == "?", .at = to_mark(mark), .text = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  Node take() { return root_ ? std::move(*root_) : Node{}; }

 private:
  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (++nodes_ > kYamlNodesMax) {
      throw Refused{to_mark(mark), "the file has more than " + std::to_string(kYamlNodesMax) + " values"};
    }
    if (anchor != YAML::NullAnchor) {
      report_.error(to_mark(mark), "anchors are not accepted: write each value where it is used");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      report_.error(to_mark(mark), "tags (!...) are not accepted: write the plain value");
    }
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check(mark, tag, anchor);
    if (open_.size() >= kYamlDepthMax) {
      throw Refused{to_mark(mark), "nested deeper than " + std::to_string(kYamlDepthMax) + " levels"};
    }
    if (expects_key()) throw Refused{to_mark(mark), "a key must be one word, not a list or a mapping"};
    open_.push_back({.kind = kind, .at = to_mark(mark)});
  }

  void close() {
    Node done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done));
  }

  void add(Node node) {
    if (expects_key()) {
      open_.back().keys.push_back({std::move(node.text), node.at});
    } else if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().kind == Node::Kind::map &&
           open_.back().keys.size() == open_.back().items.size();
  }

  Report& report_;
  std::vector<Node> open_;  // from the root to where the parser stands
  std::optional<Node> root_;
  std::size_t nodes_ = 0;
};

std::optional<Node> parse_document(Report& report) {
  std::istringstream stream{std::string(report.text())};
  YAML::Parser parser(stream);
  TreeBuilder builder(report);
  if (!parser.HandleNextDocument(builder)) return Node{};
  TreeBuilder second(report);
  if (parser.HandleNextDocument(second)) {
    report.error(second.take().at, "a second YAML document starts here: one file holds one document");
    return std::nullopt;
  }
  return builder.take();
}

}  // namespace

std::optional<Node> read_tree(Report& report) {
  if (!check_text(report)) return std::nullopt;
  try {
    auto tree = parse_document(report);
    if (report.has_errors()) return std::nullopt;
    return tree;
  } catch (const Refused& refused) {
    report.error(refused.at, refused.message);
  } catch (const YAML::Exception& e) {
    report.error(to_mark(e.mark),
                 "not valid YAML here (" + e.msg + "): check indentation, colons, quotes and brackets");
  }
  return std::nullopt;
}

namespace {

// Bytes of source that stand for the first `decoded` bytes of a quoted scalar; empty: folded over lines, or
// written with escapes of several bytes.
std::optional<std::size_t> quoted_span(std::string_view source, char quote, std::size_t decoded) {
  std::size_t at = 0;
  while (decoded > 0) {
    if (at >= source.size() || source[at] == '\n' || source[at] == '\r') return std::nullopt;
    std::size_t step = 1;
    if (quote == '\'' && source.substr(at, 2) == "''") step = 2;
    if (quote == '"' && source[at] == '\\') {
      const char kind = at + 1 < source.size() ? source[at + 1] : '\0';
      if (kind == 'x' || kind == 'u' || kind == 'U' || kind == '\n' || kind == '\r') return std::nullopt;
      step = 2;
    }
    at += step;
    --decoded;
  }
  return at;
}

}  // namespace

Mark inside(const Node& scalar, std::size_t offset, std::string_view source) {
  Mark at = scalar.at;
  if (at.offset >= source.size()) return at;
  const char first = source[at.offset];
  std::optional<std::size_t> span;
  if (first == '"' || first == '\'') {
    span = quoted_span(source.substr(at.offset + 1), first, offset);
    if (span) ++*span;
  } else if (scalar.plain && source.substr(at.offset, offset).find('\n') == std::string_view::npos) {
    span = offset;
  }
  if (!span) return at;
  at.offset += *span;
  at.column += static_cast<int>(*span);
  return at;
}

}  // namespace dripgate::config
