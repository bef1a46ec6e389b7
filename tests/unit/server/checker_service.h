// A GateService that asks a Checker at once, for tests of what renders its answers.
#pragma once

#include <string>
#include <utility>

#include "check/check.h"
#include "server/gate_service.h"

namespace dripgate::server::testing {

class CheckerService final : public GateService {
 public:
  explicit CheckerService(check::Checker& checker) : checker_(checker) {}
  void check(check::Request request, Done<check::Answer> done) override {
    checker_.check(std::move(request), std::move(done));
  }
  void refund(const std::string& id, Done<bool> done) override { checker_.refund(id, std::move(done)); }
  void explain(check::Request request, Done<check::Explanation> done) override {
    checker_.explain(std::move(request), std::move(done));
  }

 private:
  check::Checker& checker_;
};

}  // namespace dripgate::server::testing
