#include "redis/greeting.h"

#include <array>

#include "redis/encode.h"

namespace dripgate::redis {
namespace {

bool is_primary(const Reply& role) {
  const auto* items = role.items();
  const std::string* word = items != nullptr && !items->empty() ? items->front().text() : nullptr;
  return word != nullptr && *word == "master";
}

}  // namespace

Greeting::Greeting(const Identity& identity) {
  if (!identity.password.empty()) {
    if (identity.user.empty()) {
      say(Step::must, std::array<std::string_view, 2>{"AUTH", identity.password});
    } else {
      say(Step::must, std::array<std::string_view, 3>{"AUTH", identity.user, identity.password});
    }
  }
  if (identity.database != 0) {
    const std::string number = std::to_string(identity.database);
    say(Step::must, std::array<std::string_view, 2>{"SELECT", number});
  }
  if (identity.primary_only) say(Step::role, std::array<std::string_view, 1>{"ROLE"});
  // Last, and always: a server that answers nothing is found out here.
  say(Step::may, std::array<std::string_view, 3>{"CLIENT", "SETNAME", identity.name});
}

void Greeting::say(Step step, Words words) {
  steps_.push_back(step);
  append_command(wire_, words);
}

Result<bool> Greeting::received(std::string_view bytes, std::string_view node) {
  reader_.feed(bytes);
  Parsed reply;
  while (answered_ < steps_.size()) {
    const Result<bool> whole = reader_.next(reply);
    if (!whole || !*whole) return whole;
    const Step step = steps_[answered_++];
    if (!reply) {
      const Failure refusal = classify(reply.error(), node);
      // NOPERM on the name is an ACL; NOAUTH is a server that wants to know us, whatever it refuses first.
      if (step == Step::may && !reply.error().starts_with("NOAUTH") && refusal.kind == FailureKind::refused)
        continue;
      return std::unexpected(refusal.error);
    }
    if (step == Step::role && !is_primary(*reply)) {
      return fail(ErrorCode::unavailable, at_node(node, "its role is not master"), true);
    }
  }
  return true;
}

}  // namespace dripgate::redis
