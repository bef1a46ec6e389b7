// FileCounters: the counters of the embedded file for a gate that lives on another loop: every call is a task
// on the drip loop, is answered once its turn is committed, and has a deadline. Single-threaded on the gate's
// loop; destroyed after both loops have stopped.
#pragma once

#include <functional>

#include "app/engine.h"
#include "net/io_loop.h"
#include "store/counter_store.h"

namespace dripgate::app {

/// A commit waits for the disk; one that takes longer is a store failure, and what it counted stays counted.
inline constexpr Duration kFileAnswerMax = 250ms;

class FileCounters final : public store::CounterStore {
 public:
  FileCounters(net::IoLoop& gate, runtime::Loop& loop, Engine& engine)
      : gate_(gate), loop_(loop), engine_(engine) {}

  void consume(store::Charges charges, Done<core::Decision> done) override;
  void peek(store::Charges charges, Done<core::Decision> done) override;
  void refund(store::Refund refund, Done<bool> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(store::Charge charge, Done<store::CounterView> done) override;

 private:
  template <class T>
  void ask(Done<T> done, std::move_only_function<void(store::CounterStore&, Done<T>)> question);

  net::IoLoop& gate_;
  runtime::Loop& loop_;
  Engine& engine_;
};

}  // namespace dripgate::app
