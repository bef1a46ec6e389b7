#include "store/redis/counter_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/keyed_hash.h"
#include "core/check.h"
#include "store/redis/counter_decisions.h"

namespace dripgate::store {
namespace {

std::string random_name() {
  const HashKey key = random_hash_key();
  return std::to_string(keyed_hash(key, "process")) + "-" + std::to_string(keyed_hash(key, "of a store"));
}

std::vector<BucketCall> bucket_calls(const Charges& charges) {
  std::vector<BucketCall> calls;
  for (const Charge& charge : charges) calls.push_back({.charge = &charge, .requests = 1});
  return calls;
}

/// The fast path over several buckets takes them: common numbers, and no key twice.
bool are_common(const Charges& charges) {
  for (auto charge = charges.begin(); charge != charges.end(); ++charge) {
    const bool again = std::any_of(charges.begin(), charge,
                                   [&](const Charge& earlier) { return earlier.key == charge->key; });
    if (again || !is_common(*charge)) return false;
  }
  return true;
}

bool are_under(const Charges& charges, const Heard& heard) {
  for (std::size_t i = 0; i < charges.size(); ++i)
    if (!is_under(heard.states[i], charges[i].limit, heard.now)) return false;
  return true;
}

}  // namespace

struct CounterGroups::Request {
  struct Group {
    std::shared_ptr<const Charges> charges;  // with joint costs
    std::vector<std::size_t> places;         // in the request
    Heard heard{};
    core::Decision decision{};
  };
  std::vector<Group> groups;
  Done<core::Decision> done;
  std::uint64_t number = 0;
  std::size_t waiting = 0;      // answers of undo, peek or "nothing but the new limits"
  std::optional<Error> failed;  // one of these

  [[nodiscard]] Result<void> understand(Group& group, Result<Heard> answer) const;
  [[nodiscard]] static bool differs(const Group& group);
  [[nodiscard]] core::Decision joined() const;
  void one_answered();
};

/// Keeps what was heard and decides by it.
Result<void> CounterGroups::Request::understand(Group& group, Result<Heard> answer) const {
  if (!answer) return std::unexpected(std::move(answer).error());
  if (answer->states.size() != group.charges->size())
    return fail(ErrorCode::corrupt, "a counter script answered for another number of charges");
  group.heard = *std::move(answer);
  group.decision = decide(*group.charges, group.heard.states, group.heard.now);
  return {};
}

/// True: the script took the charges and core refuses them, or the other way round.
bool CounterGroups::Request::differs(const Group& group) {
  const bool allowed = group.decision.verdict == core::Verdict::allow;
  return group.heard.taken && (*group.heard.taken > 0) != allowed;
}

/// The groups' answers as one; where any refuses, the others show what they had.
core::Decision CounterGroups::Request::joined() const {
  core::Decision all;
  all.now = groups.front().heard.now;
  const bool refused = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.decision.verdict != core::Verdict::allow;
  });
  for (const Group& group : groups) {
    all.now = std::min(all.now, group.heard.now);
    for (std::size_t i = 0; i < group.places.size(); ++i) {
      core::LimitOutcome outcome = group.decision.outcomes[i];
      if (refused && outcome.verdict == core::Verdict::allow) {
        outcome =
            core::evaluate(group.heard.states[i], (*group.charges)[i].limit, 0, group.heard.now).outcome;
        outcome.verdict = core::Verdict::allow;
      }
      all.outcomes.resize(std::max(all.outcomes.size(), group.places[i] + 1));
      all.outcomes[group.places[i]] = outcome;
    }
  }
  core::judge(all);
  return all;
}

void CounterGroups::Request::one_answered() {
  if (--waiting > 0) return;
  if (failed) return done(std::unexpected(*failed));
  done(joined());
}

CounterGroups::CounterGroups(CounterScripts& scripts) : scripts_(scripts), process_(random_name()) {}

CounterGroups::RequestPtr CounterGroups::split(Charges charges, Done<core::Decision> done) const {
  auto request = std::make_shared<Request>();
  request->done = std::move(done);
  charges = join_costs(std::move(charges));
  std::vector<std::string_view> tags;
  std::vector<Charges> parts;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const std::string_view tag = scripts_.tag_of(charges[i].key);
    const auto part = static_cast<std::size_t>(std::find(tags.begin(), tags.end(), tag) - tags.begin());
    if (part == tags.size()) {
      tags.push_back(tag);
      parts.emplace_back();
      request->groups.emplace_back();
    }
    request->groups[part].places.push_back(i);
    parts[part].push_back(charges[i]);
  }
  for (std::size_t part = 0; part < parts.size(); ++part)
    request->groups[part].charges = std::make_shared<const Charges>(std::move(parts[part]));
  return request;
}

void CounterGroups::consume(Charges charges, Done<core::Decision> done) {
  const RequestPtr request = split(std::move(charges), std::move(done));
  request->number = ++requests_;
  ask(request, 0);
}

void CounterGroups::ask(const RequestPtr& request, std::size_t group) {
  const auto& charges = request->groups[group].charges;
  if (!are_common(*charges)) return ask_generic(request, group);
  scripts_.consume_buckets(bucket_calls(*charges), CounterScripts::Mode::all,
                           [this, request, group, charges](Result<Heard> answer) {
                             if (answer && !are_under(*charges, *answer)) return ask_generic(request, group);
                             heard(request, group, std::move(answer));
                           });
}

void CounterGroups::ask_generic(const RequestPtr& request, std::size_t group) {
  scripts_.consume(request->groups[group].charges, 1, [this, request, group](Result<Heard> answer) {
    heard(request, group, std::move(answer));
  });
}

void CounterGroups::heard(const RequestPtr& request, std::size_t group, Result<Heard> answer) {
  Request::Group& asked = request->groups[group];
  auto understood = request->understand(asked, std::move(answer));
  if (understood && Request::differs(asked)) understood = scripts_disagree();
  if (!understood) {
    // Whether this one took anything is not known; what earlier ones took goes back.
    for (std::size_t earlier = 0; earlier < group; ++earlier) undo(request, earlier);
    request->failed = understood.error();
    if (request->waiting == 0) request->done(std::unexpected(*request->failed));
    return;
  }
  if (asked.decision.verdict != core::Verdict::allow) return deny(request, group);
  if (group + 1 < request->groups.size()) return ask(request, group + 1);
  request->done(request->joined());
}

/// Under changed limits these count from now on for later tags too, as they would have in one call.
void CounterGroups::deny(const RequestPtr& request, std::size_t refused) {
  request->waiting = 1;
  for (std::size_t earlier = 0; earlier < refused; ++earlier) undo(request, earlier);
  for (std::size_t later = refused + 1; later < request->groups.size(); ++later) {
    ++request->waiting;
    scripts_.consume(request->groups[later].charges, 0, [request, later](Result<Heard> answer) {
      auto understood = request->understand(request->groups[later], std::move(answer));
      if (!understood) request->failed = understood.error();
      request->one_answered();
    });
  }
  request->one_answered();
}

/// A refund that fails leaves the units spent: it is not an error of the request.
void CounterGroups::undo(const RequestPtr& request, std::size_t group) {
  const Request::Group& taken = request->groups[group];
  auto refund = std::make_shared<GroupRefund>();
  refund->consumed_at = taken.heard.now;
  refund->request_id = process_ + "-" + std::to_string(request->number);
  for (std::size_t i = 0; i < taken.charges->size(); ++i) {
    const Charge& charge = (*taken.charges)[i];
    const bool again = std::any_of(refund->charges.begin(), refund->charges.end(),
                                   [&](const Charge& earlier) { return earlier.key == charge.key; });
    if (again || charge.cost == 0) continue;
    const bool was_none = core::forgettable_at(taken.heard.states[i], charge.limit) <= taken.heard.now;
    refund->charges.push_back(charge);
    refund->before.push_back(was_none ? std::string() : taken.heard.texts[i]);
  }
  if (refund->charges.empty()) return;
  ++request->waiting;
  scripts_.refund(std::move(refund), [request](const Result<bool>&) { request->one_answered(); });
}

void CounterGroups::peek(Charges charges, Done<core::Decision> done) {
  const RequestPtr request = split(std::move(charges), std::move(done));
  request->waiting = request->groups.size();
  for (std::size_t i = 0; i < request->groups.size(); ++i) {
    scripts_.peek(request->groups[i].charges, [request, i](Result<Heard> answer) {
      auto understood = request->understand(request->groups[i], std::move(answer));
      if (!understood) request->failed = understood.error();
      request->one_answered();
    });
  }
}

void CounterGroups::refund(Refund refund, Done<bool> done) {
  struct Asked {
    Done<bool> done;
    std::size_t waiting = 0;
    bool given = false;
    std::optional<Error> failed;
  };
  std::vector<std::string_view> tags;
  std::vector<std::shared_ptr<GroupRefund>> parts;
  for (const Charge& charge : refund.charges) {
    const std::string_view tag = scripts_.tag_of(charge.key);
    const auto part = static_cast<std::size_t>(std::find(tags.begin(), tags.end(), tag) - tags.begin());
    if (part == tags.size()) {
      tags.push_back(tag);
      parts.push_back(std::make_shared<GroupRefund>(GroupRefund{
          .charges = {}, .consumed_at = refund.consumed_at, .request_id = refund.request_id, .before = {}}));
    }
    parts[part]->charges.push_back(charge);
  }
  auto asked = std::make_shared<Asked>();
  asked->done = std::move(done);
  asked->waiting = parts.size();
  for (auto& part : parts) {
    scripts_.refund(std::move(part), [asked](Result<bool> answer) {
      if (!answer) asked->failed = answer.error();
      asked->given = asked->given || answer.value_or(false);
      if (--asked->waiting > 0) return;
      if (asked->failed && !asked->given) return asked->done(std::unexpected(*asked->failed));
      asked->done(asked->given);
    });
  }
}

}  // namespace dripgate::store
