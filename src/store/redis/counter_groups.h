// Requests over one or several hash tags. Of several, each is asked in turn; where a later one denies, what
// earlier ones took is given back once. Used by counter_store. Single-threaded.
#pragma once

#include <memory>
#include <string>

#include "store/redis/counter_scripts.h"

namespace dripgate::store {

class CounterGroups {
 public:
  explicit CounterGroups(CounterScripts& scripts);

  void consume(Charges charges, Done<core::Decision> done);
  void peek(Charges charges, Done<core::Decision> done);
  void refund(Refund refund, Done<bool> done);

 private:
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;

  [[nodiscard]] RequestPtr split(Charges charges, Done<core::Decision> done) const;
  void ask(const RequestPtr& request, std::size_t group);
  void ask_generic(const RequestPtr& request, std::size_t group);
  void heard(const RequestPtr& request, std::size_t group, Result<Heard> heard);
  void deny(const RequestPtr& request, std::size_t refused);
  void undo(const RequestPtr& request, std::size_t group);

  CounterScripts& scripts_;
  const std::string process_;   // begins the ids of this store's own refunds
  std::uint64_t requests_ = 0;  // of several tags, ever
};

}  // namespace dripgate::store
