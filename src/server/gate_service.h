// GateService: what the routes of the gate ask of the process behind them; app implements it over
// check::Checker. Called on the server's loop; each callback runs exactly once, there.
#pragma once

#include <string>

#include "base/result.h"
#include "check/check.h"

namespace dripgate::server {

class GateService {
 public:
  virtual ~GateService() = default;
  virtual void check(check::Request request, Done<check::Answer> done) = 0;
  virtual void refund(const std::string& refund_id, Done<bool> done) = 0;
  virtual void explain(check::Request request, Done<check::Explanation> done) = 0;
};

}  // namespace dripgate::server
