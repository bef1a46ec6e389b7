// Topics: see topics.h.
#include "config/topics.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kTopicBytesMax = 255;
constexpr std::string_view kSource = "source";
constexpr std::string_view kOverflow = "overflowTopic";
constexpr std::string_view kDeadLetters = "deadLetterTopic";

// Events of topic `from` may reach topic `to`.
struct Edge {
  std::string from;
  std::string to;
  std::string_view key;  // which key of the stream says so
  const PlacedStream* stream;
  Mark at;
};

// A subscription takes events from a topic that the file does not name.
std::string source_of(const PlacedStream& stream) {
  const std::string& source = stream.settings.source_topic;
  return stream.settings.pubsub && !source.empty() ? "subscription " + source : source;
}

std::string_view delivery_topic(const PlacedStream& stream) {
  const auto* topic = std::get_if<TopicDelivery>(&stream.settings.deliver);
  return topic ? std::string_view(topic->topic) : std::string_view();
}

std::vector<Edge> edges_of(const PlacedStream& s) {
  const core::Stream& stream = *s.settings.stream;
  std::vector<Edge> edges;
  const auto add = [&](std::string_view to, std::string_view key, Mark at) {
    if (!to.empty() && !s.settings.source_topic.empty()) {
      edges.push_back({source_of(s), std::string(to), key, &s, at});
    }
  };
  add(stream.overflow_topic, kOverflow, s.overflow_at);
  add(stream.dead_letter_topic, kDeadLetters, s.dead_letter_at);
  add(delivery_topic(s), "deliver topic", s.deliver_at);
  return edges;
}

// The topics from `from` to `to` along edges; empty: no way.
std::vector<std::string> path(const std::string& from, const std::string& to,
                              const std::multimap<std::string, std::string>& edges) {
  std::map<std::string, std::string> came_from{{from, from}};
  std::deque<std::string> open{from};
  while (!open.empty() && !came_from.contains(to)) {
    const auto [first, last] = edges.equal_range(open.front());
    for (auto edge = first; edge != last; ++edge) {
      if (came_from.emplace(edge->second, open.front()).second) open.push_back(edge->second);
    }
    open.pop_front();
  }
  if (!came_from.contains(to)) return {};
  std::vector<std::string> topics{to};
  while (topics.back() != from) topics.push_back(came_from.at(topics.back()));
  std::ranges::reverse(topics);
  return topics;
}

// Adds edges in file order; the one that closes a circle is reported.
bool refuse_circles(const std::vector<PlacedStream>& streams, Report& report) {
  bool found = false;
  std::multimap<std::string, std::string> known;
  for (const PlacedStream& stream : streams) {
    for (const Edge& edge : edges_of(stream)) {
      const std::string key = std::string(edge.key) + " " + in_quotes(edge.to);
      const std::string of = edge.stream->name;
      if (edge.to == edge.from) {
        report.error(edge.at, key + " of " + of + " is its own source; accepted: another topic");
        found = true;
        continue;
      }
      auto circle = path(edge.to, edge.from, known);
      if (!circle.empty()) {
        circle.insert(circle.begin(), edge.from);
        report.error(edge.at, key + " of " + of + " closes a circle: " + joined(circle, " -> "));
        found = true;
        continue;
      }
      known.emplace(edge.from, edge.to);
    }
  }
  return found;
}

// One stream's own three topics and its sink must differ: what the overflow consumer delivers would come
// back.
void refuse_shared_within(const PlacedStream& s, Report& report) {
  const core::Stream& stream = *s.settings.stream;
  const std::string of = " of " + s.name;
  const std::string_view sink = delivery_topic(s);
  if (!stream.overflow_topic.empty() && stream.overflow_topic == stream.dead_letter_topic) {
    report.error(s.dead_letter_at,
                 "deadLetterTopic" + of + " is also its overflowTopic; accepted: another topic");
  }
  if (sink.empty()) return;
  if (sink == stream.overflow_topic) {
    report.error(s.deliver_at, "deliver topic" + of + " is also its overflowTopic; accepted: another topic");
  }
  if (sink == stream.dead_letter_topic) {
    report.error(s.deliver_at,
                 "deliver topic" + of + " is also its deadLetterTopic; accepted: another topic");
  }
}

// Sources and overflow topics have one consumer, dead letters one owner: with two, each would take the
// other's events or overwrite its letters of the same id.
class Owners {
 public:
  Owners(Report& report, bool circles) : report_(report), circles_(circles) {}

  void own(const std::string& topic, std::string_view role, const PlacedStream& stream, Mark at) {
    if (topic.empty()) return;
    const auto [owner, fresh] = owners_.emplace(topic, Owner{role, &stream});
    if (fresh || same_stream(stream, owner->second)) return;
    if (is_chain(role, owner->second.role)) {
      if (!circles_) warn_of_chain(topic, role, stream, at, owner->second);
      return;
    }
    refuse(topic, role, stream, at, owner->second);
  }

  // A sink may feed another stream's source, never its inner topics.
  void deliver(std::string_view topic, const PlacedStream& stream) {
    const auto owner = owners_.find(topic);
    if (owner == owners_.end() || owner->second.role == kSource || same_stream(stream, owner->second)) return;
    refuse(topic, "deliver topic", stream, stream.deliver_at, owner->second);
  }

 private:
  struct Owner {
    std::string_view role;
    const PlacedStream* stream;
  };

  // A second stream of the same id is reported as that.
  static bool same_stream(const PlacedStream& stream, const Owner& owner) {
    return stream.settings.stream->id == owner.stream->settings.stream->id;
  }
  static bool is_chain(std::string_view a, std::string_view b) {
    return (a == kSource && b == kDeadLetters) || (a == kDeadLetters && b == kSource);
  }
  static std::string role_of(const Owner& owner) {
    return std::string(owner.role) + " of " + owner.stream->name;
  }
  static std::string role_of(std::string_view role, std::string_view topic, const PlacedStream& stream) {
    return std::string(role) + " " + in_quotes(topic) + " of " + stream.name;
  }
  void warn_of_chain(std::string_view topic, std::string_view role, const PlacedStream& stream, Mark at,
                     const Owner& owner) {
    report_.warning(at, role_of(role, topic, stream) + " is the " + role_of(owner) +
                            ": the embedded broker keeps dead letters apart, nothing arrives that way");
  }
  void refuse(std::string_view topic, std::string_view role, const PlacedStream& stream, Mark at,
              const Owner& owner) {
    report_.error(at, role_of(role, topic, stream) + " is already the " + role_of(owner) +
                          "; accepted: a topic of its own");
  }

  Report& report_;
  const bool circles_;  // reported already: a chain that is part of one needs no warning
  std::map<std::string, Owner, std::less<>> owners_;
};

void refuse_shared_between(const std::vector<PlacedStream>& streams, bool circles, Report& report) {
  Owners owners(report, circles);
  for (const PlacedStream& s : streams) {
    owners.own(source_of(s), kSource, s, s.source_at);
    owners.own(s.settings.stream->overflow_topic, kOverflow, s, s.overflow_at);
    owners.own(s.settings.stream->dead_letter_topic, kDeadLetters, s, s.dead_letter_at);
  }
  for (const PlacedStream& s : streams) owners.deliver(delivery_topic(s), s);
}

}  // namespace

std::string read_topic(const Node& node, std::string_view what, Report& report) {
  const auto letter_or_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto fits = [&](char c) {
    return letter_or_digit(c) || std::string_view("-_.~+%").find(c) != std::string_view::npos;
  };
  if (node.kind == Node::Kind::scalar && !node.text.empty() && node.text.size() <= kTopicBytesMax &&
      letter_or_digit(node.text.front()) && std::ranges::all_of(node.text, fits)) {
    return node.text;
  }
  const std::string is = node.kind == Node::Kind::scalar ? " is " + in_quotes(node.text) : " is not one word";
  report.error(node.at, std::string(what) + is +
                            "; accepted: a topic of letters, digits and - _ . ~ + %, at most " +
                            std::to_string(kTopicBytesMax) + ", a letter or digit first");
  return {};
}

void check_topics(const std::vector<PlacedStream>& streams, Report& report) {
  const bool circles = refuse_circles(streams, report);
  for (const PlacedStream& stream : streams) refuse_shared_within(stream, report);
  refuse_shared_between(streams, circles, report);
}

}  // namespace dripgate::config
