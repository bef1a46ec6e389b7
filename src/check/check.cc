#include "check/check.h"

#include "base/limits.h"
#include "check/check_call.h"
#include "check/route.h"

namespace dripgate::check {
namespace {

Result<void> validate(const Request& request) {
  if (request.cost >= 0 && request.cost < kExactIntegerMax) return {};
  return fail(ErrorCode::invalid_argument,
              "cost is " + std::to_string(request.cost) + "; accepted: whole numbers from 0 to 2^53 - 1");
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::allowed:
      return "allowed";
    case Kind::denied:
      return "denied";
    case Kind::impossible:
      return "impossible";
    case Kind::missing_key:
      return "missing_key";
    case Kind::unavailable:
      return "unavailable";
  }
  return "unknown";
}

void Checker::check(Request request, Done<Answer> done) {
  if (auto valid = validate(request); !valid) return done(std::unexpected(std::move(valid).error()));
  normalise(request.descriptor);
  std::make_shared<CheckCall>(*this, std::move(request), std::move(done))->start();
}

void Checker::refund(const std::string& refund_id, Done<bool> done) {
  auto taken = refund_ids_.read(refund_id, *context_.config());
  if (!taken) return done(std::unexpected(std::move(taken).error()));
  for (const std::string& name : taken->replays) replays_.forget(name);
  if (taken->refund.charges.empty()) return done(false);
  context_.store.refund(std::move(taken->refund), guard_.wrap(std::move(done)));
}

void Checker::explain(Request request, Done<Explanation> done) {
  request.peek = true;
  normalise(request.descriptor);
  auto others = [descriptor = request.descriptor](const Answer& answer) {
    return mismatches(*answer.config, descriptor);
  };
  check(std::move(request),
        [others = std::move(others), done = std::move(done)](Result<Answer> answer) mutable {
          if (!answer) return done(std::unexpected(std::move(answer).error()));
          std::vector<Mismatch> missed = others(*answer);
          done(Explanation{*std::move(answer), std::move(missed)});
        });
}

}  // namespace dripgate::check
