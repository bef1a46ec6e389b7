#include "broker/pubsub/start_checks.h"

#include <utility>

namespace dripgate::broker::pubsub {
namespace {

constexpr std::string_view kSubscriptions = "/subscriptions/";
constexpr std::string_view kTopics = "/topics/";
/// What stands in the place of a topic that was deleted.
constexpr std::string_view kDeletedTopic = "_deleted-topic_";

// The topic of the same project and name.
std::string namesake(std::string subscription) {
  return subscription.replace(subscription.find(kSubscriptions), kSubscriptions.size(), kTopics);
}

class Checks {
 public:
  Checks(Admin& admin, bool create) : admin_(admin), create_(create) {}

  Result<void> topic(const std::string& name, const std::string& what) {
    if (name.empty()) return {};
    const Answer<void> found = admin_.find_topic(name);
    if (found) return {};
    if (found.error().status != Status::not_found) return cannot_look(what, name, found.error());
    if (!create_) return missing(what, name);
    return made(admin_.create_topic(name), what, name);
  }

  /// `topic`: what it must be of; empty: any.
  Result<void> subscription(const std::string& name, const std::string& topic, const std::string& what) {
    if (name.empty()) return {};
    const Answer<SubscriptionFacts> found = admin_.find_subscription(name);
    if (found) return judge(*found, name, topic, what);
    if (found.error().status != Status::not_found) return cannot_look(what, name, found.error());
    if (!create_) return missing(what, name);
    const std::string of = topic.empty() ? namesake(name) : topic;
    if (auto there = this->topic(of, "the topic of " + what); !there) return there;
    return made(
        admin_.create_subscription(name, {.topic = of, .ack_deadline_seconds = kMadeAckDeadlineSeconds}),
        what, name);
  }

  /// A source that one of the stream's own topics feeds would run in a circle.
  Result<void> circle(const StreamPlaces& stream) {
    if (stream.source.empty()) return {};
    const Answer<SubscriptionFacts> found = admin_.find_subscription(stream.source);
    if (!found) return {};
    for (const std::string& to : {stream.overflow_topic, stream.dead_letter_topic, stream.deliver_topic}) {
      if (to.empty() || to != found->topic) continue;
      return fail(ErrorCode::invalid_argument,
                  "the source of stream " + stream.stream + " is " + stream.source + " of " + to +
                      ", to which the stream itself publishes; accepted: a subscription of another topic");
    }
    return {};
  }

  std::vector<std::string> take_advice() { return std::move(advice_); }

 private:
  Result<void> missing(const std::string& what, const std::string& name) {
    return fail(ErrorCode::not_found,
                what + ": there is no " + name + "; make it, correct the name, or start once with --create");
  }

  Result<void> made(const Answer<void>& answer, const std::string& what, const std::string& name) {
    // Another process that starts with us may have been first.
    if (!answer && answer.error().status != Status::already_exists)
      return std::unexpected(to_error(answer.error(), what + ": " + name + " cannot be made"));
    advice_.push_back(what + ": " + name + " was made");
    return {};
  }

  Result<void> cannot_look(const std::string& what, const std::string& name, const Failure& failure) {
    if (failure.status == Status::unauthenticated || failure.status == Status::invalid_argument)
      return std::unexpected(to_error(failure, what + ": " + name));
    advice_.push_back(to_error(failure, what + ": " + name + " cannot be looked at").detail);
    return {};
  }

  Result<void> judge(const SubscriptionFacts& facts, const std::string& name, const std::string& topic,
                     const std::string& what) {
    const auto refuse = [&](const std::string& why) {
      return fail(ErrorCode::invalid_argument, what + ": " + name + " " + why);
    };
    if (facts.topic == kDeletedTopic) return refuse("has lost its topic; accepted: one whose topic is there");
    if (facts.detached) return refuse("is detached from its topic; accepted: an attached one");
    if (facts.push) return refuse("pushes to an endpoint; accepted: a subscription without push");
    if (!topic.empty() && facts.topic != topic)
      return refuse("is of " + facts.topic + "; accepted: a subscription of " + topic);
    advise(facts, what + ": " + name);
    return {};
  }

  void advise(const SubscriptionFacts& facts, const std::string& of) {
    if (!facts.dead_letter_topic.empty()) {
      advice_.push_back(of + " has a dead-letter policy that sends an event to " + facts.dead_letter_topic +
                        " after " + std::to_string(facts.max_delivery_attempts) +
                        " deliveries, our own redeliveries counted: take it off, Dripgate has dead letters");
    }
    if (facts.ordering)
      advice_.push_back(of + " keeps order, the drip does not: an event that waits is passed by later ones");
    if (facts.ack_deadline_seconds > kAckDeadlineSecondsAdvised) {
      advice_.push_back(of + " has an ack deadline of " + std::to_string(facts.ack_deadline_seconds) +
                        " s: leases are kept by Dripgate, 10 to 60 s are enough");
    }
  }

  Admin& admin_;
  bool create_;
  std::vector<std::string> advice_;
};

Result<void> check_stream(Checks& checks, const StreamPlaces& s) {
  const std::string of = " of stream " + s.stream;
  // Topics first: what is to be made needs them.
  for (const auto& [name, what] :
       {std::pair{&s.overflow_topic, "overflowTopic"}, std::pair{&s.dead_letter_topic, "deadLetterTopic"},
        std::pair{&s.deliver_topic, "the deliver topic"}}) {
    if (auto there = checks.topic(*name, what + of); !there) return there;
  }
  if (auto there = checks.subscription(s.source, "", "the source" + of); !there) return there;
  if (auto there =
          checks.subscription(s.overflow_subscription, s.overflow_topic, "overflowSubscription" + of);
      !there)
    return there;
  return checks.circle(s);
}

}  // namespace

Result<std::vector<std::string>> check_places(Admin& admin, std::span<const StreamPlaces> streams,
                                              bool create) {
  Checks checks(admin, create);
  for (const StreamPlaces& stream : streams) {
    if (auto checked = check_stream(checks, stream); !checked)
      return std::unexpected(std::move(checked.error()));
  }
  return checks.take_advice();
}

}  // namespace dripgate::broker::pubsub
