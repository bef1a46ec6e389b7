// FailoverRefund: one caller's refund on its way through FailoverStore: every shard of its charges is asked
// once. Kept alive by the calls it waits for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "store/failover/failover_store.h"

namespace dripgate::store {

class FailoverRefund : public std::enable_shared_from_this<FailoverRefund> {
 public:
  FailoverRefund(FailoverStore& owner, Refund refund, Done<bool> done)
      : owner_(owner), refund_(std::move(refund)), done_(std::move(done)) {}
  void start();

 private:
  struct Part {  // the charges of one shard
    std::size_t shard;
    Charges charges;
  };
  void ask(Part part);
  void hear(std::size_t shard, const core::Breaker::Permit& permit, const Charge& asked, Result<bool> answer);

  FailoverStore& owner_;
  Refund refund_;
  Done<bool> done_;
  std::size_t missing_ = 0;
  bool given_back_ = false;
  std::optional<Error> error_;
};

}  // namespace dripgate::store
